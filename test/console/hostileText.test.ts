import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { askedIn, createAgent } from "../approvals/agents.ts";
import { askedQuestion } from "../factories/conversation.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { setUpTotp } from "../factories/secondFactors.ts";
import {
  awardedTask,
  deliveredTask,
  disputedTask,
  placeBid,
  postTask,
  taskInput,
  taskInRound,
} from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService();

/** If it ever became more than text, the window would have another title. Short enough for a tag. */
const script = "<img src=x onerror=document.title=9>";
/** One character more than any field may have, in words: Chromium takes seconds to break a line of one word. */
const long = `${"word ".repeat(4_000)}x`;
const reversed = `${script}\u202eb`;

/** What runs in the page has no types of its own here. */
interface Form {
  querySelector(selector: string): { value?: string } | null;
}

type Who = "visitor" | "buyer" | "bidder" | "careful" | "moderator";

interface FormCase {
  operation: string;
  as: Who;
  path(): string;
  /** The button that sends the form. */
  submit: string;
  /** What is done before the form is there. */
  open?(visitor: Visitor): Promise<void>;
  /** Where the text is shown once it was accepted; left out for forms that refuse it. */
  shownAt?: string | (() => string);
}

const ids = {
  open: "",
  bid: "",
  toBid: "",
  toSettle: "",
  toCancel: "",
  toExtend: "",
  toGiveBack: "",
  asked: "",
  revisable: "",
  inRound: "",
  inRoundBid: "",
  delivered: "",
  accepted: "",
  disputed: "",
  dispute: "",
  approval: "",
  webhook: "",
};
const people = {} as Record<Exclude<Who, "visitor"> | "suspect" | "suspended", TestPerson>;
const press = (name: string) => (visitor: Visitor) => visitor.button(name).first().click();
const pressFolded = (name: string) => async (visitor: Visitor) => {
  await visitor.page.getByText("If it turns out differently").click();
  await press(name)(visitor);
};

const forms: readonly FormCase[] = [
  { operation: "auth.signup", as: "visitor", path: () => "/sign-up", submit: "Create the account" },
  { operation: "auth.login", as: "visitor", path: () => "/sign-in", submit: "Sign in" },
  { operation: "auth.forgotPassword", as: "visitor", path: () => "/forgot-password", submit: "Mail me a link" },
  {
    ...{ operation: "auth.resetPassword", as: "visitor", path: () => "/reset-password#token=any" },
    submit: "Set the new password",
  },
  {
    ...{ operation: "tasks.create", as: "buyer", path: () => "/post", submit: "Post the task", shownAt: "/work" },
    async open(visitor) {
      await visitor.page.getByText("Add a check", { exact: true }).click();
      await visitor.button("A text of so many words").click();
    },
  },
  {
    ...{ operation: "tasks.update", as: "buyer", path: () => `/edit/${ids.open}`, submit: "Save" },
    shownAt: () => `/tasks/${ids.open}`,
  },
  {
    ...{ operation: "tasks.dispute", as: "buyer", path: () => `/tasks/${ids.delivered}`, submit: "Open the dispute" },
    open: press("Open a dispute"),
    shownAt: () => `/tasks/${ids.delivered}`,
  },
  {
    ...{ operation: "tasks.requestChanges", as: "buyer", path: () => `/tasks/${ids.revisable}` },
    submit: "Ask for changes",
    open: press("Ask for changes"),
    shownAt: () => `/tasks/${ids.revisable}`,
  },
  {
    ...{ operation: "tasks.declineChanges", as: "bidder", path: () => `/tasks/${ids.inRound}` },
    submit: "Decline the changes",
    open: press("Decline the changes"),
  },
  {
    ...{ operation: "agreements.propose", as: "buyer", path: () => `/tasks/${ids.toSettle}`, submit: "Propose it" },
    open: pressFolded("Propose to settle"),
    shownAt: () => `/tasks/${ids.toSettle}`,
  },
  {
    ...{ operation: "agreements.propose", as: "buyer", path: () => `/tasks/${ids.toCancel}`, submit: "Propose it" },
    open: pressFolded("Propose to cancel"),
    shownAt: () => `/tasks/${ids.toCancel}`,
  },
  {
    ...{ operation: "agreements.propose", as: "bidder", path: () => `/tasks/${ids.toExtend}`, submit: "Propose it" },
    open: pressFolded("Ask for more time"),
    shownAt: () => `/tasks/${ids.toExtend}`,
  },
  {
    ...{ operation: "bids.giveBack", as: "bidder", path: () => `/tasks/${ids.toGiveBack}`, submit: "Give it back" },
    async open(visitor) {
      await pressFolded("Give the task back")(visitor);
      await visitor.field("I give up this task and its price").check();
    },
  },
  {
    ...{ operation: "tasks.rate", as: "buyer", path: () => `/tasks/${ids.accepted}`, submit: "Send the rating" },
    // A radio button that its star covers.
    open: (visitor) => visitor.page.getByRole("radio").first().check({ force: true }),
    shownAt: () => `/tasks/${ids.accepted}`,
  },
  {
    ...{ operation: "questions.answer", as: "buyer", path: () => `/tasks/${ids.asked}`, submit: "Publish the answer" },
    open: press("Answer"),
    shownAt: () => `/tasks/${ids.asked}`,
  },
  {
    ...{ operation: "approvals.decline", as: "buyer", path: () => `/approvals/${ids.approval}`, submit: "Decline" },
    shownAt: () => `/approvals/${ids.approval}`,
  },
  { operation: "payouts.create", as: "buyer", path: () => "/wallet/payouts", submit: "Request the payout" },
  {
    ...{ operation: "keys.create", as: "buyer", path: () => "/keys", submit: "Create the key", shownAt: "/keys" },
    open: (visitor) => visitor.field(/^Have tasks done/).check(),
  },
  { operation: "webhooks.create", as: "buyer", path: () => "/webhooks", submit: "Register" },
  {
    ...{ operation: "webhooks.update", as: "buyer", path: () => `/webhooks/${ids.webhook}`, submit: "Save" },
    open: ({ page }) => page.getByText("Change the endpoint").click(),
  },
  {
    ...{ operation: "bids.place", as: "bidder", path: () => `/tasks/${ids.toBid}`, submit: "Place the bid" },
    shownAt: () => `/tasks/${ids.toBid}`,
  },
  {
    ...{ operation: "bids.update", as: "bidder", path: () => `/tasks/${ids.open}`, submit: "Save the bid" },
    open: press("Change"),
    shownAt: () => `/tasks/${ids.open}`,
  },
  {
    ...{ operation: "tasks.ask", as: "bidder", path: () => `/tasks/${ids.toBid}`, submit: "Ask the buyer" },
    open: press("Ask a question"),
    shownAt: () => `/tasks/${ids.toBid}`,
  },
  {
    ...{ operation: "messages.send", as: "bidder", path: () => `/messages/${ids.inRoundBid}`, submit: "Send" },
    shownAt: () => `/messages/${ids.inRoundBid}`,
  },
  { operation: "wallet.topup", as: "bidder", path: () => "/wallet/top-up", submit: "Go to the checkout" },
  { operation: "auth.update", as: "careful", path: () => "/account", submit: "Save the name", shownAt: "/account" },
  { operation: "auth.changePassword", as: "careful", path: () => "/account", submit: "Change the password" },
  {
    ...{ operation: "auth.removeTotp", as: "careful", path: () => "/account", submit: "Switch it off" },
    open: press("Switch it off"),
  },
  {
    ...{ operation: "auth.close", as: "careful", path: () => "/account", submit: "Close it for good" },
    open: press("Close my account"),
  },
  { operation: "auth.startTotp", as: "bidder", path: () => "/account", submit: "Go on", open: press("Set it up") },
  {
    ...{ operation: "auth.confirmTotp", as: "bidder", path: () => "/account", submit: "Switch it on" },
    async open(visitor) {
      await press("Set it up")(visitor);
      await visitor.field("Your password").fill(people.bidder.password);
      await visitor.button("Go on").click();
    },
  },
  {
    ...{ operation: "disputes.resolve", as: "moderator", path: () => `/moderation/disputes/${ids.dispute}` },
    submit: "Decide the dispute",
    open: press("Divide it"),
    shownAt: () => `/moderation/disputes/${ids.dispute}`,
  },
  {
    ...{ operation: "questions.remove", as: "moderator", path: () => `/tasks/${ids.asked}`, open: press("Remove") },
    submit: "Remove the question",
    shownAt: "/moderation/actions",
  },
  {
    ...{ operation: "users.suspend", as: "moderator", path: () => `/moderation/users?query=${people.suspect.email}` },
    submit: "Suspend",
    open: press("Suspend"),
    shownAt: "/moderation/actions",
  },
  {
    ...{ operation: "users.reinstate", as: "moderator", submit: "Reinstate", shownAt: "/moderation/actions" },
    path: () => `/moderation/users?query=${people.suspended.email}`,
    open: press("Reinstate"),
  },
];

/** Forms that only ask whether to go on. */
const withoutFields = [
  "agreements.accept",
  "agreements.decline",
  "agreements.withdraw",
  "approvals.approve",
  "bids.withdraw",
  "keys.revoke",
  "tasks.accept",
  "tasks.award",
  "tasks.cancel",
  "tasks.removeFile",
  "tasks.setCheckKey",
  "webhooks.remove",
];

test("every form of the console is among them", () => {
  const folder = join(import.meta.dirname, "../../console/src");
  const sources = globSync("**/*.tsx", { cwd: folder }).map((path) => readFileSync(join(folder, path), "utf8"));
  // Forms that share what they show have it in an object of that name.
  const pattern = /\b(?:operation=|const form = \{\s+operation: )"([\w.]+)"/g;
  const found = sources.flatMap((source) => [...source.matchAll(pattern)].map(([, name]) => name));
  // Consents are no operations: test/oauth/connect.test.ts fills them in.
  const operations = found.filter((name) => !name?.startsWith("oauth."));
  expect(operations.sort()).toEqual([...forms.map(({ operation }) => operation), ...withoutFields].sort());
});

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);

  beforeAll(async () => {
    const buyer = await createPerson(service, { cents: 200_000 });
    const bidder = await createPerson(service);
    const careful = await createPerson(service);
    const suspect = await createPerson(service);
    const suspended = await createPerson(service);
    const moderator = await createModerator(service);
    Object.assign(people, { buyer, bidder, careful, suspect, suspended, moderator });
    await setUpTotp(service, careful);
    await moderator.post(`/users/${suspended.id}/suspend`, { reason: "Spam." });
    const open = await postTask(buyer);
    await placeBid(bidder, open.id);
    const toBid = await postTask(buyer);
    const { taskId: asked } = await askedQuestion(buyer, bidder);
    const { task: revisable } = await deliveredTask(buyer, bidder, { revisions: 1 });
    const { task: inRound, bid: inRoundBid } = await taskInRound(buyer, bidder);
    const awarded = await Promise.all(
      Array.from({ length: 4 }, () => awardedTask(buyer, bidder, { priceCents: 10_000 })),
    );
    const [toSettle, toCancel, toExtend, toGiveBack] = awarded.map(({ task }) => task.id);
    const { task: delivered } = await deliveredTask(buyer, bidder);
    const { task: accepted } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${accepted.id}/accept`);
    const { dispute } = await disputedTask(buyer, bidder);
    // Only whoever has bank details is asked for an amount.
    await buyer.post("/payouts/onboarding");
    await service.services.database.query(
      sql`UPDATE payout_accounts SET active = true WHERE user_id = ${buyer.id}::uuid`,
    );
    const webhook = await buyer.post("/webhooks", { url: "https://example.com/hook", events: ["bid.received"] });
    const agent = await createAgent(service, buyer, 0);
    const approval = askedIn(await agent.post("/tasks", taskInput()));
    Object.assign(ids, {
      approval: approval.id,
      webhook: webhook.body.id,
      open: open.id,
      asked,
      revisable: revisable.id,
      inRound: inRound.id,
      inRoundBid: inRoundBid.id,
      toBid: toBid.id,
      ...{ toSettle, toCancel, toExtend, toGiveBack },
      delivered: delivered.id,
      accepted: accepted.id,
      dispute: dispute.id,
    });
  });

  async function enter(who: Who): Promise<Visitor> {
    const visitor = await console.arrive(who);
    await visitor.page.setViewportSize({ width: 390, height: 800 });
    if (who !== "visitor") await visitor.enterAs(people[who]);
    return visitor;
  }

  /** Nothing that was written has become a part of the page, which is as wide as it was. */
  async function isHarmless(visitor: Visitor): Promise<void> {
    expect(await visitor.page.title()).toMatch(/Rebid$/);
    expect(await visitor.page.locator("img[src=x]").count()).toBe(0);
    await visitor.fits();
  }

  /** Fills all of these fields, sends the form, and waits for whatever comes of it. Returns whether it is still there. */
  async function send(
    visitor: Visitor,
    form: Locator,
    button: Locator,
    fields: Locator,
    text: string,
  ): Promise<boolean> {
    // As they are now: what is filled is no longer invalid.
    for (const field of await fields.elementHandles()) await field.fill(text);
    await button.click();
    const isSettled = () =>
      form.evaluateAll((found: Form[]) =>
        found.every(
          (each) =>
            each.querySelector("[aria-busy=true]") === null &&
            (each.querySelector("[aria-invalid=true], [role=alert]") !== null ||
              // The place to write stays, and is empty again.
              each.querySelector("textarea")?.value === ""),
        ),
      );
    await expect.poll(isSettled).toBe(true);
    await isHarmless(visitor);
    return (await form.count()) > 0;
  }

  async function attack(visitor: Visitor, { path, open, submit, shownAt }: FormCase): Promise<void> {
    const { page } = visitor;
    await visitor.open(path());
    await page.locator("main h1").waitFor();
    await open?.(visitor);
    const button = page.locator("form").getByRole("button", { name: submit, exact: true });
    const form = page.locator("form").filter({ has: page.getByRole("button", { name: submit, exact: true }) });
    const invalid = (fields: Locator) => fields.and(page.locator("[aria-invalid=true]"));
    await button.waitFor();
    const numbers = form.locator("input[inputmode=decimal]");
    const lines = form.locator(
      "input:not([inputmode=decimal], [type=radio], [type=checkbox], [type=file], [type=datetime-local])",
    );
    const texts = lines.or(form.locator("textarea"));

    if ((await numbers.count()) > 0) {
      await send(visitor, form, button, numbers, script);
      expect(await invalid(numbers).count()).toBe(await numbers.count());
      for (const field of await numbers.all()) await field.fill("100");
    }
    if ((await texts.count()) === 0) return;
    await send(visitor, form, button, texts, long);
    // A sign-in says nothing about its fields.
    if (submit !== "Sign in") expect(await invalid(texts).count()).toBe(await texts.count());
    const isThere = await send(visitor, form, button, texts, reversed);
    if (isThere && (await invalid(lines).count()) > 0) await send(visitor, form, button, invalid(lines), script);
    if (shownAt === undefined) return;
    await visitor.open(typeof shownAt === "string" ? shownAt : shownAt());
    await page.locator("main h1").waitFor();
    await expect
      .poll(async () => (await page.locator("main").innerText()) + (await inputsOf(page.locator("main"))))
      .toContain(script);
    await isHarmless(visitor);
  }

  const inputsOf = async (part: Locator) =>
    (await Promise.all((await part.locator("input[type=text]").all()).map((field) => field.inputValue()))).join("\n");

  test.each(["visitor", "buyer", "bidder", "careful", "moderator"] as const)(
    "scripts, direction marks and 20,001 characters in any field of a %s are text, or refused beside the field",
    async (who) => {
      const visitor = await enter(who);
      for (const form of forms.filter(({ as }) => as === who)) await attack(visitor, form);
    },
  );

  test("nor do they harm a search", async () => {
    const visitor = await enter("moderator");
    const { page } = visitor;
    await visitor.open("/tasks");
    for (const text of [script, reversed]) {
      for (const field of await page.locator("search input").all()) await field.fill(text);
      await visitor.button("Search").click();
      // A task that the buyer posted above may have the very title.
      const found = page.getByRole("list", { name: "Tasks" }).getByText(script).first();
      await page.getByText("Nothing matches").or(page.getByRole("alert")).or(found).first().waitFor();
      await isHarmless(visitor);
    }
    await visitor.open("/moderation/users");
    await visitor.field("Name, address or id").fill(reversed);
    await visitor.button("Find").click();
    await page.getByText("Nobody was found").or(page.getByRole("alert")).waitFor();
    await isHarmless(visitor);
  });
});
