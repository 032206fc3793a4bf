import { readdir, readFile } from "node:fs/promises";
import type { JsonObject } from "../server/http/openApi/json.ts";

const folder = new URL("released/", import.meta.url);

/** Returns the document of the current code, as it was last generated. */
export async function readDocument(): Promise<JsonObject> {
  return JSON.parse(await readFile(new URL("openapi.json", import.meta.url), "utf8"));
}

/** Returns the document of the latest release, or null before the first one. */
export async function latestReleased(): Promise<{ version: string; document: JsonObject } | null> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json"));
  const latest = names.sort(new Intl.Collator("en", { numeric: true }).compare).at(-1);
  if (latest === undefined) return null;
  return {
    version: latest.slice(0, -".json".length),
    document: JSON.parse(await readFile(new URL(latest, folder), "utf8")),
  };
}
