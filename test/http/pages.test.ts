import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { browserTimeout, hasBrowser, launchBrowser } from "../setup/browser.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("the pages' policies allow only our own files, and no page names another address", async () => {
  for (const path of ["/", "/docs", "/docs/webhooks", "/topup/done", "/topup/cancelled"]) {
    const page = await rest(service.url, "GET", path);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = page.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:/);
    expect(page.text).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(page.text).not.toMatch(/<script>|<script [^>]*>[^<]|\son\w+=|\sstyle=/);
  }
});

test("the viewer's files come from its package, can be cached, and are compressed", async () => {
  for (const [path, type, bytes] of [
    ["/docs/viewer.js", /^text\/javascript/, 1_000_000],
    ["/docs/viewer.css", /^text\/css/, 100_000],
  ] as const) {
    const compressed = await rest(service.url, "GET", path);
    const plain = await rest(service.url, "GET", path, { headers: { "accept-encoding": "identity" } });
    expect([compressed.headers.get("content-encoding"), plain.headers.get("content-encoding")]).toEqual(["gzip", null]);
    expect(compressed.headers.get("content-type")).toMatch(type);
    expect(compressed.headers.get("cache-control")).toBe("public, max-age=86400");
    expect(compressed.text.length).toBeGreaterThan(bytes);
    expect(compressed.text).toBe(plain.text);
  }
});

// Without a browser, only the tests above check the pages.
describe.skipIf(!hasBrowser)("the API reference in a real browser", browserTimeout, () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let person: TestPerson;
  let foreign: string[];
  let problems: string[];

  beforeAll(async () => {
    browser = await launchBrowser();
    person = await createPerson(service, { cents: 12_345 });
  });
  afterAll(() => browser?.close());

  beforeEach(() => {
    foreign = [];
    problems = [];
  });
  afterEach(async () => {
    await context.close();
    expect(problems).toEqual([]);
    expect(foreign).toEqual([]);
  });

  async function open(path: string, colorScheme: "light" | "dark" = "light"): Promise<void> {
    context = await browser.newContext({ colorScheme, reducedMotion: "reduce" });
    page = await context.newPage();
    page.on("request", (request) => {
      const isOurs = request.url().startsWith(`${service.url}/`) || /^(data|blob):/.test(request.url());
      if (!isOurs) foreign.push(request.url());
    });
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => {
      // Swagger UI mistakes the `_` in an operation's id for an escaped space, and logs that as an error.
      const isIdle = message.text().startsWith("Deprecated: escaping deep link whitespace");
      if (message.type() === "error" && !isIdle) problems.push(message.text());
    });
    await page.goto(service.url + path);
  }

  const operation = (id: string) => page.locator(`[id="operations-${id}"]`);

  async function tryOut(id: string): Promise<{ status: number; body: unknown; authorization: string | undefined }> {
    await operation(id).getByRole("button", { name: "Try it out" }).click();
    const answer = page.waitForResponse((response) => response.url() === `${service.url}/wallet`);
    await operation(id).getByRole("button", { name: "Execute" }).click();
    const response = await answer;
    const { authorization } = await response.request().allHeaders();
    return { status: response.status(), body: await response.json(), authorization };
  }

  test("a list that is tried out as it stands is asked for with the defaults, and without a cursor", async () => {
    await open("/docs#/tasks/tasks_list");
    await operation("tasks-tasks_list").getByRole("button", { name: "Try it out" }).click();
    const request = page.waitForRequest((sent) => new URL(sent.url()).pathname === "/tasks");
    await operation("tasks-tasks_list").getByRole("button", { name: "Execute" }).click();
    expect(new URL((await request).url()).search).toBe("?limit=50&status=open");
  });

  const body = { availableCents: 12_345, heldCents: 0 };

  test.each(["light", "dark"] as const)("shows tags, operations and events (%s)", async (colorScheme) => {
    await open("/docs", colorScheme);
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("API reference");
    for (const id of [
      "auth-auth_signup",
      "keys-keys_create",
      "wallet-wallet_read",
      "tasks-tasks_list",
      "bids-bids_place",
    ]) {
      await operation(id).waitFor();
    }
    await page.getByText("bid.received").first().waitFor();
    const background = await page.evaluate("getComputedStyle(document.body).backgroundColor");
    expect(background).toBe(colorScheme === "dark" ? "rgb(22, 24, 28)" : "rgb(250, 250, 248)");
    await page.getByPlaceholder("Filter by tag or path").fill("wallet");
    await operation("tasks-tasks_list").waitFor({ state: "detached" });
    await operation("wallet-wallet_read").waitFor();
  });

  test("opens the operation that the address names", async () => {
    await open("/docs#/tasks/tasks_create");
    await operation("tasks-tasks_create").getByText("an API key with the scope").waitFor();
  });

  test("tries out an operation with the session of the signed-in person, without an Authorization header", async () => {
    await open("/docs#/wallet/wallet_read");
    const [name = "", value = ""] = (person.session.cookie ?? "").split("=");
    await context.addCookies([{ name, value, url: service.url }]);
    expect(await tryOut("wallet-wallet_read")).toEqual({ status: 200, body, authorization: undefined });
    await operation("wallet-wallet_read").getByText("12345").first().waitFor();
  });

  test("tries out an operation with an API key", async () => {
    await open("/docs#/wallet/wallet_read");
    const key = person.key.authorization ?? "";
    await page.locator("button.authorize").first().click();
    const dialog = page.locator(".dialog-ux");
    const bearer = dialog.locator(".auth-container").filter({ hasText: "(http, Bearer)" });
    await bearer.getByRole("textbox").fill(key.replace("Bearer ", ""));
    await bearer
      .getByRole("button", { name: "Apply" })
      .or(bearer.getByRole("button", { name: "Authorize" }))
      .first()
      .click();
    await dialog.getByRole("button", { name: "Close" }).first().click();
    expect(await tryOut("wallet-wallet_read")).toEqual({ status: 200, body, authorization: key });
  });
});
