export type { Answer, Call } from "./call.ts";
export { Rebid } from "./client.ts";
export * from "./errors.ts";
export type * from "./generated/types.ts";
export type { List } from "./list.ts";
export type { ChangeOptions, Logger, RebidOptions, RequestOptions, Timing, TryOptions } from "./options.ts";
