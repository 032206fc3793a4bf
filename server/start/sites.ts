import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { buildSite } from "../sites/build.ts";
import { manifestFile } from "../sites/manifest.ts";
import { folderOf, sites } from "../sites/sites.ts";

/** Another process may be building a site already, and nobody waits for its builder. */
const MAX_BEGINNING_MS = 1_000;

/**
 * Builds the sites that are missing or stale, except in production, which serves what its release carries. Never fails:
 * without a site, only its pages are absent. Resolves when the builders run, in processes of their own, to what tells when
 * they are done, because loading many modules meanwhile would keep them from beginning.
 */
export async function prepareSites({ production, role }: Config, log: Logger): Promise<{ areReady: Promise<unknown> }> {
  if (role === "worker") return { areReady: Promise.resolve() };
  if (production) {
    const absent = sites.filter((site) => !existsSync(manifestFile(folderOf(site)))).map(({ name }) => name);
    if (absent.length > 0) log.warn({ sites: absent }, "not built: their pages are absent; see `npm run build`");
    return { areReady: Promise.resolve() };
  }
  const builds = sites.map((site) => {
    const builder = Promise.withResolvers<void>();
    const done = buildSite(site, folderOf(site), builder.resolve)
      .catch((error: unknown) => ({ outcome: "absent", failure: String(error) }))
      .then(({ outcome, failure }) => {
        if (outcome === "absent")
          log.warn({ site: site.name, failure }, "a site could not be built: its pages are absent");
      });
    return {
      hasBegun: Promise.race([builder.promise, done, sleep(MAX_BEGINNING_MS, undefined, { ref: false })]),
      done,
    };
  });
  await Promise.all(builds.map(({ hasBegun }) => hasBegun));
  return { areReady: Promise.all(builds.map(({ done }) => done)) };
}
