import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { browserTimeout, hasBrowser, launchBrowser } from "../setup/browser.ts";
import { rest } from "../setup/client.ts";
import { mailsTo } from "../setup/mails.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ worker: true, mailbox: true });

async function linkTo(person: TestPerson): Promise<string> {
  await rest(service.url, "POST", "/auth/password/forgot", { body: { email: person.email } });
  const [mail] = await mailsTo(service, person.email);
  return mail?.links[0] ?? "";
}

test("the pages of links send no referrer, allow only our own script, and reading them uses no token up", async () => {
  const person = await createPerson(service);
  const link = await linkTo(person);
  for (let count = 0; count < 3; count++) {
    const page = await fetch(link);
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.get("cache-control")).toBe("no-store");
    const policy = page.headers.get("content-security-policy");
    expect(policy).toMatch(/default-src 'none'.*script-src 'self'; connect-src 'self'.*form-action 'none'/);
    expect(policy).not.toMatch(/unsafe/);
    expect(await page.text()).not.toContain(new URL(link).searchParams.get("token"));
  }
  const token = new URL(link).searchParams.get("token");
  const body = { token, newPassword: "a new password" };
  expect((await rest(service.url, "POST", "/auth/password/reset", { body })).status).toBe(204);
  expect((await fetch(`${service.url}/account/form.js`, { method: "POST" })).status).toBe(405);
});

describe.skipIf(!hasBrowser)("in a real browser", browserTimeout, () => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await launchBrowser();
    page = await browser.newPage();
  });
  afterAll(() => browser?.close());

  const status = () => page.getByRole("status").textContent();

  test("a person sets a new password with the link of a mail, once, and leaves no token in the address", async () => {
    const person = await createPerson(service);
    const link = await linkTo(person);
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(error.message));
    await page.goto(link);
    expect(page.url()).toBe(`${service.url}/account/reset`);
    const field = page.getByLabel("New password");
    const button = page.getByRole("button", { name: "Set the new password" });
    await field.fill("🔑🔑🔑🔑"); // 8 for the browser, 4 characters for us
    await button.click();
    await page.getByText("must have at least 8 characters").waitFor();
    await field.fill("a much better password");
    await button.click();
    await page.getByText("Your password has been changed.").waitFor();
    expect(await button.isVisible()).toBe(false);
    const { email } = person;
    const login = await rest(service.url, "POST", "/auth/login", {
      body: { email, password: "a much better password" },
    });
    expect(login.status).toBe(200);

    await page.goto(link);
    await field.fill("yet another password");
    await button.click();
    await page.getByText("was used already").waitFor();
    await page.goto(`${service.url}/account/reset`);
    expect(await status()).toContain("incomplete");
    expect(problems).toEqual([]);
  });

  test("a person confirms an address by pressing the button, also where somebody is signed in", async () => {
    const person = await createPerson(service);
    await person.post("/auth/email/resend");
    const [mail] = await mailsTo(service, person.email);
    const [name = "", value = ""] = (person.session.cookie ?? "").split("=");
    await page.context().addCookies([{ name, value, url: service.url }]);
    await page.goto(mail?.links[0] ?? "");
    await page.getByRole("button", { name: "Confirm my address" }).click();
    await page.getByText("your address is confirmed").waitFor();
    expect((await person.get("/auth/me")).body.user.emailVerifiedAt).not.toBeNull();
  });

  test("the mailbox shows the mails with their links, and runs no script", async () => {
    const person = await createPerson(service);
    const link = await linkTo(person);
    await page.goto(service.mailboxUrl ?? "");
    await page.getByText(`To ${person.email}`).waitFor();
    expect(await page.getByRole("link", { name: link }).getAttribute("href")).toBe(link);
    const response = await fetch(service.mailboxUrl ?? "");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  });
});
