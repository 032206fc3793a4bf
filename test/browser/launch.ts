import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Debian's Chromium. */
const executablePath = "/usr/bin/chromium";

export const hasBrowser = existsSync(executablePath);

/** A browser that asks nobody for anything by itself. */
export function launchBrowser(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"];
  return chromium.launch({ executablePath, args });
}
