import { enableCompileCache } from "node:module";
import { join } from "node:path";

// Everything is loaded from here on, so that it is stripped of its types and compiled only once, by the first start. Without
// write access, every start does that.
enableCompileCache(join(import.meta.dirname, "../../.build/compiled"));
await import("./run.ts");
