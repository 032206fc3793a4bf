import { createRequire } from "node:module";

/** The version of this service, and so of the OpenAPI document. */
export const { version } = createRequire(import.meta.url)("../package.json") as { version: string };
