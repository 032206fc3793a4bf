import { router } from "../../trpc.ts";
import { changePassword } from "./changePassword.ts";
import { close } from "./close.ts";
import { endSession } from "./endSession.ts";
import { exportData } from "./export.ts";
import { forgotPassword } from "./forgotPassword.ts";
import { listSessions } from "./listSessions.ts";
import { login } from "./login.ts";
import { logout } from "./logout.ts";
import { me } from "./me.ts";
import { resendVerification } from "./resendVerification.ts";
import { resetPassword } from "./resetPassword.ts";
import { signup } from "./signup.ts";
import { confirmTotp } from "./totpConfirm.ts";
import { removeTotp } from "./totpRemove.ts";
import { startTotp } from "./totpStart.ts";
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
  startTotp,
  confirmTotp,
  removeTotp,
  export: exportData,
  close,
});
