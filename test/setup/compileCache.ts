import { join } from "node:path";

/**
 * For the environment of our processes: starting one takes half the CPU time when its TypeScript has been stripped and
 * compiled before.
 */
export const compileCache = { NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/node") };
