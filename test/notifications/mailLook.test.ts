import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Composed, type Content, compose } from "../../server/notifications/compose.ts";
import { hasBrowser, launchBrowser } from "../setup/browser.ts";

const folder = join(import.meta.dirname, "../../.build/screenshots");
const item = (index: number) => ({
  title: `New bid of $85.00 on “Translate page ${index}”`,
  text: "Bo would deliver within 24 hours. Award it if it suits you.",
  url: "https://rebid.example/app/tasks/1",
});
const contents: Record<string, Content> = {
  news: {
    subject: "“Translate two pages” was delivered: accept or dispute by 27 Nov 2026, 14:00 UTC",
    heading: "“Translate two pages” was delivered",
    paragraphs: ["Accept or dispute it by 27 Nov 2026, 14:00 UTC. Otherwise Bo is paid $85.00."],
    items: [],
    button: { label: "Open the task", url: "https://rebid.example/app/tasks/1" },
    why: "You get this mail because this task is yours, and mails about deadlines come at once.",
    stops: ["deadlines"],
  },
  digest: {
    subject: "Your day on Rebid: 3 notifications",
    heading: `Your day on Rebid: ${"longwordwithoutanyblanks".repeat(8)}`,
    paragraphs: [],
    items: [1, 2, 3].map(item),
    button: { label: "Open your inbox", url: "https://rebid.example/app" },
    why: "You get this mail once a day, at 8:00 in your time zone.",
    stops: ["daily"],
  },
};
const sender = {
  settings: { publicUrl: "https://rebid.example", sessionSecrets: ["a secret of 32 characters or more"] },
  clock: { now: () => new Date("2026-11-25T08:00:00Z") },
};

describe.skipIf(!hasBrowser)("a mail in a real mail program's engine", () => {
  let browser: Awaited<ReturnType<typeof launchBrowser>>;
  const mails: Record<string, Composed> = {};
  beforeAll(async () => {
    browser = await launchBrowser();
    await mkdir(folder, { recursive: true });
    for (const [name, content] of Object.entries(contents)) {
      mails[name] = await compose(sender, "019aa1b2-0000-7000-8000-000000000001", content);
    }
  });
  afterAll(() => browser.close());

  const looks = Object.keys(contents).flatMap((name) =>
    (["light", "dark"] as const).flatMap((theme) => [320, 640].map((width) => ({ name, theme, width }))),
  );
  test.each(looks)(
    "$name, $theme, $width pixels: nothing is cut off or asked of another address, and text can be read",
    async (look) => {
      const { name, theme, width } = look;
      const context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 700 } });
      const page = await context.newPage();
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      await page.setContent(mails[name]?.html ?? "");
      expect(asked).toEqual([]);
      // As text, because it runs in the page.
      const seen = await page.evaluate<{ wide: number; pairs: [string, number][] }>(`(() => {
      const lightness = (color) => {
        const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map((part) => {
          const share = part / 255;
          return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (node) => {
        const color = getComputedStyle(node).backgroundColor;
        return /, 0\\)$|transparent/.test(color) && node.parentElement ? behind(node.parentElement) : color;
      };
      const texts = [...document.querySelectorAll("div, a, p")].filter((node) =>
        getComputedStyle(node).display !== "none" && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim() !== ""));
      const pairs = texts.map((node) => {
        const [a, b] = [lightness(getComputedStyle(node).color), lightness(behind(node))];
        return [node.textContent.trim().slice(0, 30), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
      });
      return { wide: document.documentElement.scrollWidth, pairs };
    })()`);
      await page.screenshot({ path: join(folder, `mail-${name}-${theme}-${width}.png`), fullPage: true });
      await context.close();
      expect(seen.wide).toBeLessThanOrEqual(width);
      expect(seen.pairs.length).toBeGreaterThan(4);
      expect(seen.pairs.filter(([, contrast]) => contrast < 4.5)).toEqual([]);
    },
  );
});
