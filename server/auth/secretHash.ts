import { hash } from "node:crypto";

/** SHA-256 of a key, a token or a code: the only form that is stored. A secret of 110 and more random bits needs no slow hash. */
export const hashSecret = (secret: string): Buffer<ArrayBuffer> => Buffer.from(hash("sha256", secret, "buffer"));
