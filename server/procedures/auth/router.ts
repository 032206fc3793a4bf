import { router } from "../../trpc.ts";
import { login } from "./login.ts";
import { logout } from "./logout.ts";
import { me } from "./me.ts";
import { signup } from "./signup.ts";

export const authRouter = router({ signup, login, logout, me });
