import { router } from "../../trpc.ts";
import { changePassword } from "./changePassword.ts";
import { endSession } from "./endSession.ts";
import { forgotPassword } from "./forgotPassword.ts";
import { listSessions } from "./listSessions.ts";
import { login } from "./login.ts";
import { logout } from "./logout.ts";
import { me } from "./me.ts";
import { resendVerification } from "./resendVerification.ts";
import { resetPassword } from "./resetPassword.ts";
import { signup } from "./signup.ts";
import { update } from "./update.ts";
import { verifyEmail } from "./verifyEmail.ts";

export const authRouter = router({
  signup,
  login,
  logout,
  me,
  update,
  changePassword,
  forgotPassword,
  resetPassword,
  verifyEmail,
  resendVerification,
  listSessions,
  endSession,
});
