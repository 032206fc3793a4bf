import { z } from "zod";
import { text } from "./common.ts";

/** A code of the second factor. */
export const FactorCode = text(1, 64).meta({
  description:
    "If the account has a second factor: the current six digits of the authenticator, which work once, or a recovery code.",
  example: "492039",
});

/** The first code of a new authenticator. */
export const TotpCode = z
  .string()
  .regex(/^\d{3} ?\d{3}$/, { error: "`code` must be the six digits that the authenticator shows." })
  .meta({ description: "The six digits that the authenticator shows.", example: "492039", minLength: 6, maxLength: 7 });
