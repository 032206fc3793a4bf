import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { codeOf } from "../factories/secondFactors.ts";
import { hasBrowser } from "../setup/browser.ts";
import { rest } from "../setup/client.ts";
import { mailsTo, tokenOf } from "../setup/mails.ts";
import { useService } from "../setup/testService.ts";
import { useConsole } from "./visitor.ts";

const service = useService({ worker: true, mailbox: true });

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);

  test("a person sets a new password with the link of a mail, once, and leaves no token in the address", async () => {
    const person = await createPerson(service);
    const visitor = await console.arrive("Forgetful");
    const { page } = visitor;
    const sent: string[] = [];
    page.on("request", (request) => sent.push(request.url(), ...Object.values(request.headers())));
    await visitor.open("/forgot-password");
    await visitor.field("Email address").fill(person.email);
    await visitor.button("Mail me a link").click();
    await visitor.sees("Look into your mailbox");
    const [mail] = await mailsTo(service, person.email);
    const link = mail?.links[0] ?? "";
    await page.goto(link);
    await expect.poll(() => page.url()).toBe(`${service.url}/app/reset-password`);
    const field = page.getByLabel("New password", { exact: true });
    await field.fill("🔑🔑🔑🔑"); // 8 for the browser, 4 characters for us
    await visitor.button("Set the new password").click();
    await visitor.sees("must have at least 8 characters");
    await field.fill("a much better password");
    await visitor.button("Set the new password").click();
    await visitor.sees("All sessions of your account have ended");
    expect(sent.filter((text) => text.includes(tokenOf(link)))).toEqual([]);
    const body = { email: person.email, password: "a much better password" };
    expect((await rest(service.url, "POST", "/auth/login", { body })).status).toBe(200);

    await page.goto("about:blank");
    await page.goto(link);
    await field.fill("yet another password");
    await visitor.button("Set the new password").click();
    await visitor.sees("was used already");
    await visitor.open("/reset-password");
    await visitor.sees("This link is incomplete");
  });

  test("a person confirms an address by pressing the button", async () => {
    const person = await createPerson(service);
    await person.post("/auth/email/resend");
    const [mail] = await mailsTo(service, person.email);
    const visitor = await console.arrive("New");
    await visitor.enterAs(person);
    await visitor.page.goto(mail?.links[0] ?? "");
    await visitor.button("Confirm my address").waitFor();
    expect((await person.get("/auth/me")).body.user.emailVerifiedAt).toBeNull();
    await visitor.button("Confirm my address").click();
    await visitor.sees("Your address is confirmed");
    expect((await person.get("/auth/me")).body.user.emailVerifiedAt).not.toBeNull();
  });

  test("a second factor is set up, asked for at the sign-in, and switched off", async () => {
    const person = await createPerson(service);
    const visitor = await console.arrive("Careful");
    const { page } = visitor;
    await visitor.enterAs(person);
    await visitor.open("/account");
    await visitor.button("Set it up").click();
    await visitor.field("Your password").fill(person.password);
    await visitor.button("Go on").click();
    const secret =
      (await page
        .locator("code")
        .filter({ hasText: /^[A-Z2-7]{16,}$/ })
        .textContent()) ?? "";
    await page.getByRole("textbox", { name: "Code" }).fill(codeOf(service, secret));
    await visitor.button("Switch it on").click();
    await visitor.sees("Your recovery codes");
    const recovery = ((await page.locator("pre").textContent()) ?? "").split("\n");
    expect(recovery).toHaveLength(10);
    await visitor.button("Done").click();
    await visitor.page.getByRole("button", { name: /^Account of/ }).click();
    await visitor.button("Sign out").click();
    await visitor.link("Sign in").click();
    await visitor.signIn(person);
    await visitor.sees("This account also asks for a code");
    await page.getByRole("textbox", { name: "Code" }).fill("000000");
    await visitor.button("Sign in").click();
    await page.locator("[aria-invalid=true]").waitFor();
    await page.getByRole("textbox", { name: "Code" }).fill(codeOf(service, secret, 1));
    await visitor.button("Sign in").click();
    await visitor.heading(`Hello, ${person.displayName}`).waitFor();
    await visitor.open("/account");
    await visitor.button("Switch it off").first().click();
    await visitor.field("Your password").fill(person.password);
    await page.getByRole("textbox", { name: "Code" }).fill(recovery[0] ?? "");
    await visitor.confirm("Switch it off");
    await visitor.button("Set it up").waitFor();
  });

  test("the export of a large account is one document; the account is closed with the password", async () => {
    const person = await createPerson(service);
    // More than fits into one part.
    await service.services.database.query(sql`
      INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, created_at, status)
      SELECT ${person.id}::uuid, 'Task ' || n, repeat('x', 20000), 10, '{}', now() - n * interval '1 second', 'cancelled'
      FROM generate_series(1, 450) n`);
    const visitor = await console.arrive("Leaver");
    const { page } = visitor;
    await visitor.enterAs(person);
    await visitor.open("/account");
    const parts: string[] = [];
    page.on("request", (request) => void (/auth\.export/.test(request.url()) && parts.push(request.url())));
    const download = page.waitForEvent("download");
    await visitor.button("Download my data").click();
    expect((await download).suggestedFilename()).toBe("rebid-export.json");
    const saved = JSON.parse(await readFile(await (await download).path(), "utf8"));
    expect(new Set(saved.tasks.map(({ title }: { title: string }) => title)).size).toBe(450);
    expect(saved).toMatchObject({ user: { id: person.id }, nextPart: null });
    expect(parts.length).toBeGreaterThan(1);

    await visitor.button("Close my account").click();
    await page.getByRole("alertdialog").getByLabel("Your password").fill("wrong");
    await visitor.confirm("Close it for good");
    await visitor.sees("password is wrong");
    await page.getByRole("alertdialog").getByLabel("Your password").fill(person.password);
    await visitor.confirm("Close it for good");
    await visitor.link("Sign in").first().waitFor();
  });

  test("the mailbox shows the mails with their links, and runs no script", async () => {
    const person = await createPerson(service);
    await rest(service.url, "POST", "/auth/password/forgot", { body: { email: person.email } });
    const [mail] = await mailsTo(service, person.email);
    const link = mail?.links[0] ?? "";
    const { page } = await console.arrive("Reader");
    await page.goto(service.mailboxUrl ?? "");
    await page.getByText(`To ${person.email}`).waitFor();
    expect(await page.getByRole("link", { name: link }).getAttribute("href")).toBe(link);
    const response = await fetch(service.mailboxUrl ?? "");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  });
});
