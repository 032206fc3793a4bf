import { randomBytes } from "node:crypto";

/** An access token of a grant: 256 random bits. Source: docs/contract.md "Connected apps". */
export const accessTokenPattern = /^rb_oat_[\w-]{43}$/;

export const generateAccessToken = (): string => `rb_oat_${randomBytes(32).toString("base64url")}`;
