declare module "virtual:limits" {
  const limits: Record<string, Record<string, import("./limits.ts").Limits>>;
  /** When each event happens, by its type. */
  export const eventWords: Record<string, string>;
  export default limits;
}
