import { configDefaults, mergeConfig } from "vitest/config";
import suite from "../vitest.config.ts";
import { slowFiles } from "./slowFiles.ts";

/** `npm run test:fast`: everything that needs no process or browser of its own. */
export default mergeConfig(suite, { test: { exclude: [...configDefaults.exclude, ...slowFiles()] } });
