import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Debian's Chromium. The one without windows is the same engine, and takes half the CPU time. */
const executablePath = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync);

export const hasBrowser = executablePath !== undefined;

let shared: Promise<Browser> | undefined;

/** The browser of this process: test files share it, each with contexts of its own. It ends with the process. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= launchBrowser();
  return shared;
}

/**
 * Launches a browser that sends no requests of its own. Its pages live too shortly for optimised JavaScript: compiling it
 * took an eighth of the CPU time.
 */
export function launchBrowser(): Promise<Browser> {
  const args = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-gpu",
    // The network and the drawing need no processes of their own, and messages to them: a twentieth of the CPU time.
    "--enable-features=NetworkServiceInProcess2",
    "--in-process-gpu",
    "--js-flags=--no-opt --no-maglev --always-sparkplug",
  ];
  return chromium.launch({ executablePath, args });
}
