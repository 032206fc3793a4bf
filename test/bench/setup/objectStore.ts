import { startObjectStore } from "../../../server/local/objectStore/start.ts";

/** The embedded object store in a process of its own, for all sides of a bench; its variables are those of the service. */
const { S3_BUCKET = "", S3_REGION = "", S3_ACCESS_KEY_ID = "", S3_SECRET_ACCESS_KEY = "" } = process.env;
const { url } = await startObjectStore({
  directory: process.env.OBJECTS ?? "",
  ...{ bucket: S3_BUCKET, region: S3_REGION, accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY },
  preferredPort: Number(process.env.PORT),
});
// The other sides have been told this port.
if (new URL(url).port !== process.env.PORT) throw new Error(`Port ${process.env.PORT} is in use.`);
process.once("SIGTERM", () => process.exit(0));
console.log("ready");
