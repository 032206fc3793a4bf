declare module "virtual:limits" {
  const limits: Record<string, Record<string, import("./limits.ts").Limits>>;
  export default limits;
}
