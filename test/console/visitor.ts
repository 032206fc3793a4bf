import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { buildSite } from "../../server/sites/build.ts";
import { consoleSite } from "../../server/sites/sites.ts";
import type { TestPerson } from "../factories/people.ts";
import { axeSource } from "../screenshots/examine.ts";
import { sharedBrowser } from "../setup/browser.ts";
import type { TestService } from "../setup/testService.ts";

/** What a person needs from Chromium to become a test of the console. Each has a browser profile of their own. */
export class Visitor {
  readonly page: Page;
  readonly name: string;
  readonly email: string;
  readonly password = "a long password";
  readonly context: BrowserContext;
  readonly #url: string;
  /** What went wrong in the pages: exceptions, refused resources, requests to other hosts. */
  readonly problems: string[] = [];

  private constructor(url: string, name: string, context: BrowserContext, page: Page) {
    this.#url = url;
    this.name = name;
    this.email = `${name.toLowerCase()}-${crypto.randomUUID().slice(0, 8)}@example.com`;
    this.context = context;
    this.page = page;
    this.watch(page);
  }

  static async arrive(browser: Browser, service: TestService, name: string): Promise<Visitor> {
    const context = await browser.newContext({ reducedMotion: "reduce", viewport: { width: 1280, height: 900 } });
    return new Visitor(service.url, name, context, await context.newPage());
  }

  watch(page: Page): void {
    page.on("pageerror", (error) => this.problems.push(error.message));
    page.on("console", (message) => {
      const text = message.text();
      // A refusal is a status, which Chromium reports, and a test may cut the network. A policy that is broken is neither.
      if (message.type() === "error" && !/status of (4\d\d|207)|ERR_INTERNET_DISCONNECTED|ERR_FAILED/.test(text))
        this.problems.push(text);
    });
  }

  open = (path: string) => this.page.goto(`${this.#url}/app${path}`);
  /** Goes to another kind of page as a link does, without loading the console again, which costs half a second. */
  async follow(path: string): Promise<void> {
    await this.page.evaluate(`document.querySelector("main h1").setAttribute("data-left", "");
      history.pushState(null, "", ${JSON.stringify(`/app${path}`)})`);
    await this.page.locator("main h1:not([data-left])").waitFor();
  }
  button = (name: string | RegExp): Locator => this.page.getByRole("button", { name, exact: true });
  link = (name: string | RegExp): Locator => this.page.getByRole("link", { name, exact: true });
  field = (name: string | RegExp): Locator => this.page.getByLabel(name);
  heading = (name: string | RegExp): Locator => this.page.getByRole("heading", { name });
  sees = (text: string | RegExp) => this.page.getByText(text).filter({ visible: true }).first().waitFor();

  /** The button in the dialog that is open. */
  confirm = (name: string | RegExp) =>
    this.page.getByRole("alertdialog").getByRole("button", { name, exact: true }).click();

  async signUp(): Promise<void> {
    await this.open("/sign-up");
    await this.field("Name").fill(this.name);
    await this.field("Email address").fill(this.email);
    await this.page.getByLabel("Password", { exact: true }).fill(this.password);
    await this.button("Create the account").click();
    await this.heading(`Hello, ${this.name}`).waitFor();
  }

  /** Gets the session of somebody who signed up without a browser. */
  async enterAs({ session }: TestPerson): Promise<void> {
    const [name = "", value = ""] = (session.cookie ?? "").split("=");
    await this.context.addCookies([{ name, value, url: this.#url }]);
  }

  async signIn({ email, password }: { email: string; password: string } = this): Promise<void> {
    await this.field("Email address").fill(email);
    await this.page.getByLabel("Password", { exact: true }).fill(password);
    await this.button("Sign in").click();
  }

  /** Through the checkout page of the embedded processor. */
  async topUp(dollars: string): Promise<void> {
    await this.open("/wallet/top-up");
    await this.field("Amount").fill(dollars);
    await this.button("Go to the checkout").click();
    await this.page.getByRole("button", { name: /^Pay/ }).click();
    await this.sees("has arrived");
  }

  async postTask({ title, budget }: { title: string; budget: string }): Promise<void> {
    await this.open("/post");
    await this.field("Title").fill(title);
    await this.field(/^Description/).fill("Everything is said here.");
    await this.field("Budget").fill(budget);
    await this.button("Post the task").click();
    await this.heading(title).waitFor();
  }

  /**
   * Fails for what axe still finds after a while. It notes positions first and colours later, so that it compares
   * the wrong ones where the page moves meanwhile: a second look at the settled page tells those from real findings.
   */
  async isAccessible(): Promise<void> {
    if (!(await this.page.evaluate<boolean>("'axe' in window"))) await this.page.evaluate(axeSource);
    const look = () =>
      this.page.evaluate<string[]>(`axe.run({ resultTypes: ["violations"], preload: false }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 300)).join(" | ")))`);
    await expect.poll(look, { message: `what axe finds at ${this.page.url()}` }).toEqual([]);
  }

  /** No page is wider than its window, once it is laid out for it. */
  async fits(): Promise<void> {
    const overflow = () => this.page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
    await expect
      .poll(overflow, { message: `pixels that ${this.page.url()} is wider than its window` })
      .toBeLessThanOrEqual(0);
  }
}

/** Builds the console, if it is not up to date. */
export function useBuiltConsole(): void {
  beforeAll(async () => {
    const { outcome, failure } = await buildSite(consoleSite);
    if (outcome === "absent") throw new Error(`the console could not be built: ${failure}`);
  });
}

/** Visitors for a test file, with the console built. Whoever arrived must have met no problem in the end. */
export function useConsole(service: TestService) {
  const visitors: Visitor[] = [];
  let browser: Browser;
  useBuiltConsole();
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterAll(async () => {
    await Promise.all(visitors.map(({ context }) => context.close()));
    expect(visitors.flatMap(({ problems }) => problems)).toEqual([]);
  });
  return {
    async arrive(name: string): Promise<Visitor> {
      const visitor = await Visitor.arrive(browser, service, name);
      visitors.push(visitor);
      return visitor;
    },
  };
}
