import { readdir } from "node:fs/promises";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { axeSource, examine } from "../screenshots/examine.ts";
import { hasBrowser, sharedBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { builtDocs } from "./blocks.ts";

const service = useService();

/** The rules of axe that compare colours. */
const comparesColours = ["color-contrast", "link-in-text-block"];

describe.skipIf(!hasBrowser)("the documentation in a real browser", () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let person: TestPerson;
  let foreign: string[];
  let problems: string[];

  beforeAll(async () => {
    await builtDocs();
    browser = await sharedBrowser();
    person = await createPerson(service, { cents: 12_345 });
  });

  beforeEach(async () => {
    foreign = [];
    problems = [];
    context = await browser.newContext({ colorScheme: "light", reducedMotion: "reduce" });
    page = await context.newPage();
    page.on("request", (request) => {
      if (!request.url().startsWith(`${service.url}/`)) foreign.push(request.url());
    });
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => {
      // The form asks who is signed in; nobody is 401, which the browser notes.
      if (message.type() === "error" && !message.text().includes("status of 401")) problems.push(message.text());
    });
  });
  afterEach(async () => {
    await context.close();
    expect(problems).toEqual([]);
    expect(foreign).toEqual([]);
  });

  const open = (path: string) => page.goto(service.url + path);

  async function send(path: string) {
    const answer = page.waitForResponse((response) => new URL(response.url()).pathname === path);
    await page.getByRole("button", { name: "Send" }).click();
    const response = await answer;
    const { authorization } = await response.request().allHeaders();
    return { status: response.status(), authorization, search: new URL(response.url()).search };
  }

  test("an operation is sent with the session of the signed-in person, without an Authorization header", async () => {
    const [name = "", value = ""] = (person.session.cookie ?? "").split("=");
    await context.addCookies([{ name, value, url: service.url }]);
    await open("/docs/reference/wallet/read");
    await page.getByText(`Sent as ${person.displayName}`).waitFor();
    expect(await send("/wallet")).toMatchObject({ status: 200, authorization: undefined });
    await page.getByText("12345").waitFor();
  });

  test("an operation is sent with a key that was pasted, and with none is what it is without authentication", async () => {
    await open("/docs/reference/wallet/read");
    await page.getByText("paste an API key").waitFor();
    expect(await send("/wallet")).toMatchObject({ status: 401, authorization: undefined });
    const key = person.key.authorization ?? "";
    await page.getByLabel("API key").fill(key.replace("Bearer ", ""));
    expect(await send("/wallet")).toMatchObject({ status: 200, authorization: key });
  });

  test("parameters and a body are sent as they were entered, and a list as it stands without any", async () => {
    await open("/docs/reference/tasks/list");
    expect((await send("/tasks")).search).toBe("");
    await page.getByLabel("limit").fill("3");
    expect((await send("/tasks")).search).toBe("?limit=3");

    await open("/docs/reference/tasks/create");
    await page.getByLabel("API key").fill((person.key.authorization ?? "").replace("Bearer ", ""));
    await page.getByLabel("Body").fill('{"title": "A title", "description": "x", "maxBudgetCents": 100, "tags": []}');
    expect(await send("/tasks")).toMatchObject({ status: 201 });
    await page.getByText('"title": "A title"').last().waitFor();
  });

  test("one search finds guides and operations, and Enter opens the first", async () => {
    await open("/docs/money");
    await page.keyboard.press("/");
    await page.getByPlaceholder("Search guides and reference").fill("spend_limit");
    await page.locator("dialog").getByRole("link", { name: "spend_limit Errors" }).waitFor();
    await page.getByPlaceholder("Search guides and reference").fill("award a task");
    await page.locator("dialog").getByRole("link", { name: "Tasks" }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs\/.+/);
  });

  test("the search shows guides before records, each with the sentence that has the word", async () => {
    await open("/docs/money");
    await page.keyboard.press("/");
    await page.getByPlaceholder("Search guides and reference").fill("acceptanceDeadlineAt");
    const found = page.locator("dialog li");
    await found.first().waitFor();
    const pages = await found.locator("small").allTextContents();
    const firstRecord = pages.indexOf("Records");
    expect(firstRecord).toBeGreaterThan(0);
    expect(pages.slice(firstRecord).every((name) => name === "Records")).toBe(true);
    for (const excerpt of await found.locator("span").allTextContents())
      expect(excerpt.toLowerCase()).toContain("acceptancedeadlineat");
  });

  test("no key is lost while the search is being loaded, and after a failure it is loaded again", async () => {
    const index = "**/docs/search.json";
    // Before the page is opened: Chromium may let the next requests of an open one pass.
    await page.route(index, (route) => route.fulfill({ status: 503 }));
    await open("/docs/money");
    await page.keyboard.press("/");
    // One key: after it, nothing is under way that would refuse the next ones too.
    await page.keyboard.type("s");
    await page.getByText("The search could not be loaded").waitFor();
    await page.unroute(index);
    await page.keyboard.type("pend_limit");
    await page.locator("dialog").getByRole("link", { name: "spend_limit Errors" }).waitFor();
    expect(problems.splice(0).filter((text) => !text.includes("status of 503"))).toEqual([]);
  });

  test("a chosen theme stays, and a language that was chosen is shown on the next page too", async () => {
    await open("/docs/webhooks");
    const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
    expect(await background()).toBe("rgb(250, 250, 248)");
    await page.getByRole("button", { name: "Dark theme" }).click();
    expect(await background()).toBe("rgb(22, 24, 28)");
    await page.getByRole("button", { name: "Python", exact: true }).first().click();
    await page.reload();
    expect(await background()).toBe("rgb(22, 24, 28)");
    await page.getByText("def verify").waitFor();
  });

  test("a guide's pictures are loaded, in the reader's theme: the system's, or the one that was chosen", async () => {
    const seen: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith(".webp")) seen.push(request.url().replace(/.*-(\w+)\.webp$/, "$1"));
    });
    const shown = () =>
      page.evaluate<
        string[]
      >(`[...document.querySelectorAll("article img")].filter((image) => image.checkVisibility()).map(
        (image) => (image.alt !== "" && image.complete && image.naturalWidth > 600 ? image.className : "not loaded"))`);
    await page.setViewportSize({ width: 1280, height: 9_000 });
    await open("/docs/brief-and-talk");
    await expect.poll(shown).toEqual(Array(4).fill("light"));
    expect(new Set(seen)).toEqual(new Set(["light"]));
    await page.getByRole("button", { name: "Dark theme" }).click();
    await expect.poll(shown).toEqual(Array(4).fill("dark"));
    await page.evaluate("localStorage.clear()");
    await page.emulateMedia({ colorScheme: "dark" });
    await page.reload();
    await expect.poll(shown).toEqual(Array(4).fill("dark"));
  });

  test("a language that is chosen with the keyboard is shown in all places, and without scripts every language is", async () => {
    const shown = (on: Page) =>
      on.locator(".tabs > figure.code:visible").evaluateAll((found) => found.map((each) => each.dataset.language));
    await open("/docs/bidding");
    const places = await page.locator(".tabs").count();
    expect(await shown(page)).toEqual(Array(places).fill("curl"));
    const button = page.locator(".tabs").nth(3).getByRole("button", { name: "TypeScript" });
    await button.press("Enter");
    expect(await shown(page)).toEqual(Array(places).fill("TypeScript"));

    const plain = await browser.newContext({ javaScriptEnabled: false });
    const unscripted = await plain.newPage();
    await unscripted.goto(`${service.url}/docs/bidding`);
    const figures = unscripted.locator(".tabs > figure.code");
    expect(await figures.count()).toBe(places * 3);
    for (const figure of await figures.all()) expect(await figure.isVisible()).toBe(true);
    await plain.close();
  });

  test("axe finds nothing serious on any page in either theme, on a phone and on a laptop, and none is too wide", async () => {
    const files = (await readdir(await builtDocs(), { recursive: true })).filter((file) => file.endsWith(".html"));
    expect(files.length).toBeGreaterThan(70);
    const groups = new Set<string>();
    await page.addInitScript(axeSource);
    for (const file of files) {
      // The frame is the same around all pages, and the rows of a table are like each other.
      const isWhole = /^(index|money|reference\/tasks\/create)\.html$/.test(file);
      const within = { include: [isWhole ? "html" : "main"], exclude: ["tr:nth-of-type(n + 4)"] };
      await page.setViewportSize({ width: 390, height: 844 });
      await page.emulateMedia({ colorScheme: "light" });
      await open(`/docs/${file.replace(/(index)?\.html$/, "")}`);
      // Comparing colours takes most of the time, and the operations of a group have the same ones.
      const group = /^reference\/(\w+)\//.exec(file)?.[1] ?? file;
      const isLike = groups.has(group);
      groups.add(group);
      const disabled = isLike ? comparesColours : [];
      const options = { rules: Object.fromEntries(disabled.map((rule) => [rule, { enabled: false }])) };
      expect([file, await examine(page, { within, options })]).toEqual([file, []]);
      if (isLike) continue;
      await page.emulateMedia({ colorScheme: "dark" });
      await page.setViewportSize({ width: 1280, height: 844 });
      expect([file, await examine(page, { within, options: { runOnly: comparesColours } })]).toEqual([file, []]);
    }
  });
});
