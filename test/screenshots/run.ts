/**
 * `npm run screenshots [-- WORD…]`: takes pictures of our pages, in both themes and three widths, from a marketplace of its
 * own, into `.build/screenshots/`. Reports what axe finds serious, pages wider than their window, and messages of the
 * browser's console, such as what a policy has refused. Exits with 1 when there is any. Words choose pages by their names;
 * `readme` also writes the README's picture, `docs/pictures/console.webp`, and `guide` those of the guides beside it.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import type { Browser, BrowserContext } from "playwright-core";
import { run, startProcess } from "../install/processes.ts";
import { launchBrowser } from "../setup/browser.ts";
import { examine } from "./examine.ts";
import { furnish, type Places } from "./furnish.ts";
import { type Shot, shots, themes, widths } from "./shots.ts";
import { writeWebp } from "./writeWebp.ts";

const root = join(import.meta.dirname, "../..");
const output = join(root, ".build/screenshots");
const words = process.argv.slice(2);

interface Look {
  theme: (typeof themes)[number];
  width: (typeof widths)[number];
}

/** The cookies of those who have signed in, by name. */
const cookies = new Map<string, Awaited<ReturnType<BrowserContext["cookies"]>>>();

async function signIn(context: BrowserContext, url: string, name: string): Promise<void> {
  const known = cookies.get(name);
  if (known !== undefined) return context.addCookies(known);
  const response = await context.request.post(`${url}/auth/login`, {
    data: { email: `${name}@example.com`, password: "a seed password" },
  });
  if (!response.ok()) throw new Error(`${name} cannot sign in: ${response.status()}`);
  cookies.set(name, await context.cookies());
}

/** Takes one picture, and returns what is wrong with it. */
async function take(browser: Browser, url: string, places: Places, shot: Shot, look: Look): Promise<string[]> {
  const { theme, width } = look;
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height: width < 500 ? 844 : 900 },
    deviceScaleFactor: width < 500 ? 2 : 1,
    reducedMotion: "reduce",
  });
  try {
    if (shot.as !== undefined) await signIn(context, url, shot.as);
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => {
      // Refusals belong to what is shown: nobody is signed in, or a form is refused.
      if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) problems.push(message.text());
    });
    const path = typeof shot.path === "string" ? shot.path : shot.path(places);
    await page.goto(new URL(path, url).href, { waitUntil: "load" });
    await page.evaluate("document.fonts.ready.then(() => {})");
    await shot.prepare?.(page);
    const picture = join(output, `${shot.name}-${theme}-${width}.png`);
    if (shot.part === undefined) await page.screenshot({ path: picture, fullPage: shot.whole ?? false });
    else await shot.part(page).screenshot({ path: picture });
    return [...problems, ...(await examine(page))];
  } finally {
    await context.close();
  }
}

async function main(): Promise<number> {
  const chosen = shots.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  const directory = await mkdtemp(join(tmpdir(), "rebid-screenshots-"));
  const port = await getPort();
  const env = {
    ...process.env,
    PORT: String(port),
    DATA_DIR: join(directory, "data"),
    RATE_LIMITS: "off",
    WEBHOOK_ALLOW_INSECURE: "on",
    LOG_LEVEL: "warn",
  };
  const service = startProcess(process.execPath, ["server/start/main.ts"], { cwd: root, env });
  const url = `http://localhost:${port}`;
  let browser: Browser | undefined;
  let count = 0;
  try {
    await service.ready;
    await run(process.execPath, ["server/commands/seed.ts"], { cwd: root, env });
    await run(process.execPath, ["server/commands/moderator.ts", "add", "dev@example.com"], { cwd: root, env });
    const places = await furnish(url, env.DATA_DIR);
    browser = await launchBrowser();
    await mkdir(output, { recursive: true });
    for (const shot of chosen) {
      for (const theme of themes) {
        for (const width of widths) {
          const problems = await take(browser, url, places, shot, { theme, width });
          count += problems.length;
          for (const problem of problems) console.log(`${shot.name}, ${theme}, ${width}: ${problem}`);
        }
      }
    }
    if (words.includes("readme")) {
      await writeWebp(browser, join(output, "readme-light-1280.png"), join(root, "docs/pictures/console.webp"));
    }
    for (const { name } of words.includes("guide") ? chosen.filter(({ isKept }) => isKept) : []) {
      for (const theme of themes) {
        const picture = join(root, `docs/pictures/${name}-${theme}.webp`);
        await writeWebp(browser, join(output, `${name}-${theme}-1280.png`), picture);
      }
    }
  } finally {
    await browser?.close();
    await service.stop();
    await rm(directory, { recursive: true, force: true });
  }
  console.log(`${chosen.length * themes.length * widths.length} pictures are in ${output}; ${count} problems.`);
  return count === 0 ? 0 : 1;
}

process.exitCode = await main();
