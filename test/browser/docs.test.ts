import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { hasBrowser, launchBrowser } from "./launch.ts";

const service = useService();

test("the pages allow only what we serve ourselves, and name no other address", async () => {
  for (const path of ["/", "/docs", "/topup/done", "/topup/cancelled"]) {
    const page = await rest(service.url, "GET", path);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(page.text).not.toMatch(/(src|href)="(https?:)?\/\//);
  }
  const script = await rest(service.url, "GET", "/docs/reference.js");
  expect(script.headers.get("content-type")).toMatch(/^text\/javascript/);
  expect(script.text.length).toBeGreaterThan(1_000_000);
});

// Where there is no browser, the pages are held to their policy above.
describe.skipIf(!hasBrowser)("in a real browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  test.each(["light", "dark"] as const)(
    "the API reference shows tags, operations and events (%s), and asks nobody else for anything",
    async (colorScheme) => {
      const context = await browser.newContext({ colorScheme, reducedMotion: "reduce" });
      const page = await context.newPage();
      const foreign: string[] = [];
      const problems: string[] = [];
      page.on("request", (request) => {
        if (!request.url().startsWith(`${service.url}/`) && !/^(data|blob):/.test(request.url()))
          foreign.push(request.url());
      });
      page.on("pageerror", (error) => problems.push(error.message));
      page.on("console", (message) => {
        if (message.type() === "error") problems.push(message.text());
      });
      await page.goto(`${service.url}/docs`);
      await page.getByRole("heading", { name: "Rebid", level: 1 }).waitFor();
      for (const tag of ["auth", "keys", "wallet", "tasks", "bids"]) {
        await page.getByRole("navigation").getByText(tag, { exact: true }).first().waitFor();
      }
      await page.goto(`${service.url}/docs#tag/tasks/POST/tasks`);
      await page.getByText("An API key needs the scope").first().waitFor();
      await page.goto(`${service.url}/docs#tag/webhooks/webhook/POST/bidreceived`);
      await page.getByRole("heading", { name: "bid.received" }).waitFor();
      await page.getByText("X-Service-Signature").first().waitFor();
      expect(problems).toEqual([]);
      expect(foreign).toEqual([]);
      await context.close();
    },
  );
});
