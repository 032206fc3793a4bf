declare module "virtual:limits" {
  const limits: Record<string, Record<string, import("./limits.ts").Limits>>;
  export default limits;
}

declare module "virtual:events" {
  /** When each event happens, by its type. */
  const eventWords: Record<string, string>;
  export default eventWords;
}

declare module "virtual:options" {
  const options: Record<string, Record<string, readonly string[]>>;
  export default options;
}
