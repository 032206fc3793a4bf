/**
 * The outside world in its own process: the embedded payment processor and object store, which must not die with the
 * API. It reports where they listen, and ends when its parent does.
 */
import { join } from "node:path";
import { z } from "zod";
import { startObjectStore } from "../../server/local/objectStore/start.ts";
import { startProcessor } from "../../server/local/processor/start.ts";

const Settings = z.object({
  directory: z.string(),
  eventsUrl: z.string(),
  secretKey: z.string(),
  webhookSecret: z.string(),
  store: z.object({ bucket: z.string(), region: z.string(), accessKeyId: z.string(), secretAccessKey: z.string() }),
});
export type EdgeSettings = z.infer<typeof Settings>;

export const EdgeReady = z.object({ processorUrl: z.string(), storeUrl: z.string() });

/**
 * How long each step of the processor's slow operations takes: short, so that many are under way when something is
 * killed.
 */
const STEP_MS = 700;

if (import.meta.main) {
  const { directory, store, ...keys } = Settings.parse(JSON.parse(process.argv[2] ?? ""));
  const objects = await startObjectStore({ directory: join(directory, "objects"), ...store });
  const processor = await startProcessor({
    directory: join(directory, "processor"),
    stepMs: STEP_MS,
    ...keys,
  });
  process.once("disconnect", () => process.exit(0));
  process.send?.({ processorUrl: processor.url, storeUrl: objects.url });
}
