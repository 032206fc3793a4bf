import { router } from "../../trpc.ts";
import { close } from "./close.ts";
import { exportData } from "./export.ts";
import { login } from "./login.ts";
import { logout } from "./logout.ts";
import { me } from "./me.ts";
import { signup } from "./signup.ts";
import { confirmTotp } from "./totpConfirm.ts";
import { removeTotp } from "./totpRemove.ts";
import { startTotp } from "./totpStart.ts";

export const authRouter = router({
  signup,
  login,
  logout,
  me,
  startTotp,
  confirmTotp,
  removeTotp,
  export: exportData,
  close,
});
