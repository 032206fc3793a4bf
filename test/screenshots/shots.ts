import type { Locator, Page } from "playwright-core";
import type { Places } from "./furnish.ts";

/** One page that is photographed, in every theme and width. */
export interface Shot {
  /** The beginning of the file's name. */
  name: string;
  path: string | ((places: Places) => string);
  /** The whole page, not only what the window shows. */
  whole?: boolean;
  /** A guide shows it: its pictures of a laptop are kept in `docs/pictures`. */
  isKept?: true;
  /** What of the page is shown. */
  part?: (page: Page) => Locator;
  /** The person of `npm run seed` who is signed in. Dev is a moderator. */
  as?: "ada" | "bo" | "dev";
  /** What is done on the page before the picture. */
  prepare?(page: Page): Promise<void>;
}

export const themes = ["light", "dark"] as const;
/** A phone, a tablet and a laptop, in CSS pixels. */
export const widths = [390, 768, 1280] as const;

/** Opens the first task of the list that the page shows. */
async function openTask(page: Page): Promise<void> {
  await page.getByRole("list", { name: /tasks/i }).first().getByRole("link").first().click();
  await page.getByRole("heading", { name: "Description" }).waitFor();
}

/** Waits until a page of the console is there with all that it reads. */
async function isRead(page: Page): Promise<void> {
  await page.locator("main h1").waitFor();
  await page
    .getByText(/^(Loading)?…$/)
    .first()
    .waitFor({ state: "detached" });
}

const ofConsole = ({ prepare, ...shot }: Shot): Shot => ({
  whole: true,
  ...shot,
  async prepare(page) {
    await isRead(page);
    await prepare?.(page);
  },
});

/** Presses a button, and waits for the dialog that it opens. */
async function ask(page: Page, button: string): Promise<void> {
  await page.getByRole("button", { name: button, exact: true }).first().click();
  await page.getByRole("alertdialog").waitFor();
}

/** The same for what few need, which is folded away. */
async function askFolded(page: Page, button: string): Promise<void> {
  await page.getByText("If it turns out differently").click();
  await ask(page, button);
}

const visitorShots: readonly Shot[] = [
  { name: "console-home", path: "/app" },
  { name: "console-tasks", path: "/app/tasks" },
  { name: "console-tasks-none", path: "/app/tasks?query=nothing-like-this" },
  { name: "console-task-visitor", path: ({ editable }) => `/app/tasks/${editable}` },
  { name: "console-sign-in", path: "/app/sign-in?to=/wallet" },
  {
    name: "console-sign-up",
    path: "/app/sign-up",
    async prepare(page) {
      await page.getByLabel("Email address").fill("nobody");
      await page.getByRole("button", { name: "Create the account" }).click();
      await page.locator("[aria-invalid=true]").first().waitFor();
    },
  },
  { name: "console-forgot-password", path: "/app/forgot-password" },
  { name: "console-reset-password", path: "/app/reset-password#token=any" },
  { name: "console-verify-email", path: "/app/verify-email#token=any" },
  { name: "console-not-found", path: "/app/nowhere" },
];

const personShots: readonly Shot[] = [
  { name: "console-overview", path: "/app", as: "ada" },
  { name: "console-tasks-signed-in", path: "/app/tasks?status=awarded", as: "bo" },
  { name: "console-task-delivered", path: "/app", as: "dev", prepare: openTask },
  { name: "console-task-bids", path: ({ editable }) => `/app/tasks/${editable}`, as: "ada" },
  {
    name: "readme",
    path: ({ editable }) => `/app/tasks/${editable}`,
    as: "ada",
    whole: false,
    prepare: (page) => page.getByText("rating").nth(1).waitFor(), // they are read after the task
  },
  {
    name: "console-task-questions",
    path: ({ editable }) => `/app/tasks/${editable}`,
    as: "ada",
    async prepare(page) {
      await page.getByRole("button", { name: "Answer", exact: true }).first().click();
      await page.getByLabel("Your answer").fill("Yes, if its licence covers the web.");
    },
  },
  { name: "console-task-bidder", path: ({ editable }) => `/app/tasks/${editable}`, as: "bo" },
  { name: "console-task-to-bid", path: ({ editable }) => `/app/tasks/${editable}`, as: "dev" },
  {
    name: "console-post-checks",
    path: "/app/post",
    as: "ada",
    async prepare(page) {
      await page.getByText("Add a check", { exact: true }).click();
      for (const offer of ["A PDF of at most 10 MB", "A text of so many words"]) {
        await page.getByRole("button", { name: offer, exact: true }).click();
      }
      await page.getByLabel(/^At least, words/).fill("300");
      await page.getByLabel(/^Pay by itself/).check();
    },
  },
  { name: "console-task-awarded", path: ({ awarded }) => `/app/tasks/${awarded}`, as: "bo" },
  { name: "console-notifications", path: "/app/notifications", as: "ada" },
  { name: "console-conversations", path: "/app/messages", as: "ada" },
  {
    name: "console-conversation",
    path: ({ awardedBid }) => `/app/messages/${awardedBid}`,
    as: "ada",
    prepare: (page) => page.getByText("You get it tonight.").waitFor(),
  },
  {
    name: "console-task-talk",
    path: ({ awarded }) => `/app/tasks/${awarded}`,
    as: "ada",
    async prepare(page) {
      await page.getByRole("link", { name: /^Messages with/ }).click();
      await page.getByText("You get it tonight.").waitFor();
    },
  },
  { name: "console-task-revised", path: ({ revised }) => `/app/tasks/${revised}`, as: "ada" },
  {
    name: "console-ask-for-changes",
    path: ({ revised }) => `/app/tasks/${revised}`,
    as: "ada",
    whole: false,
    prepare: (page) => ask(page, "Ask for changes"),
  },
  {
    name: "console-agreement",
    path: ({ proposed }) => `/app/tasks/${proposed}`,
    as: "ada",
    prepare: (page) => page.getByText("25 seconds of the gulls").waitFor(),
  },
  {
    name: "console-agreement-proposed",
    path: ({ proposed }) => `/app/tasks/${proposed}`,
    as: "bo",
    prepare: (page) => page.getByText("25 seconds of the gulls").waitFor(),
  },
  {
    name: "console-agreement-accept",
    path: ({ proposed }) => `/app/tasks/${proposed}`,
    as: "ada",
    whole: false,
    prepare: (page) => ask(page, "Accept"),
  },
  {
    name: "console-agreement-settle",
    path: ({ awarded }) => `/app/tasks/${awarded}`,
    as: "bo",
    whole: false,
    prepare: (page) => askFolded(page, "Propose to settle"),
  },
  {
    name: "console-agreement-extend",
    path: ({ awarded }) => `/app/tasks/${awarded}`,
    as: "bo",
    whole: false,
    prepare: (page) => askFolded(page, "Ask for more time"),
  },
  {
    name: "console-give-back",
    path: ({ awarded }) => `/app/tasks/${awarded}`,
    as: "bo",
    whole: false,
    async prepare(page) {
      await askFolded(page, "Give the task back");
      await page.getByRole("button", { name: "Give it back" }).click();
      await page.locator("[aria-invalid=true]").first().waitFor();
    },
  },
  {
    name: "console-agreement-settled",
    path: ({ settled }) => `/app/tasks/${settled}`,
    as: "ada",
    prepare: (page) => page.getByText("The premiere was moved").waitFor(),
  },
  { name: "console-task-disputed", path: ({ disputed }) => `/app/tasks/${disputed}`, as: "ada" },
  {
    name: "console-award",
    path: ({ editable }) => `/app/tasks/${editable}`,
    as: "ada",
    whole: false,
    prepare: (page) => ask(page, "Award"),
  },
  { name: "console-edit", path: ({ editable }) => `/app/edit/${editable}`, as: "ada" },
  {
    name: "console-post",
    path: "/app/post",
    as: "ada",
    async prepare(page) {
      await page.getByLabel("Budget").fill("250");
      await page.getByRole("button", { name: "Post the task" }).click();
      await page.locator("[aria-invalid=true]").first().waitFor();
    },
  },
  { name: "console-work", path: "/app/work", as: "ada" },
  { name: "console-work-bids", path: "/app/work?show=bids", as: "bo" },
  { name: "console-reputation", path: ({ bo }) => `/app/users/${bo}`, as: "ada" },
  { name: "console-wallet", path: "/app/wallet", as: "ada" },
  { name: "console-wallet-filtered", path: "/app/wallet?kind=chargeback", as: "ada" },
  {
    name: "console-top-up",
    path: "/app/wallet/top-up",
    as: "ada",
    prepare: (page) => page.getByRole("button", { name: "$50" }).click(),
  },
  { name: "console-payouts", path: "/app/wallet/payouts", as: "bo" },
  { name: "console-keys", path: "/app/keys", as: "ada" },
  {
    name: "console-key-shown",
    path: "/app/keys",
    as: "bo",
    async prepare(page) {
      await page.getByLabel("Name").fill("Bidding agent");
      await page.getByRole("button", { name: "Create the key" }).click();
      await page.getByRole("button", { name: "Copy" }).waitFor();
    },
  },
  { name: "console-webhooks", path: "/app/webhooks", as: "ada" },
  {
    name: "console-webhook",
    path: ({ webhook }) => `/app/webhooks/${webhook}`,
    as: "ada",
    prepare: (page) => page.locator("summary").first().click(),
  },
  { name: "console-account", path: "/app/account", as: "ada" },
  {
    name: "console-account-close",
    path: "/app/account",
    as: "ada",
    whole: false,
    async prepare(page) {
      await ask(page, "Close my account");
      await page.getByRole("alertdialog").getByLabel("Your password").fill("a seed password");
      await page.getByRole("button", { name: "Close it for good" }).click();
      await page.getByText("This must be finished first").waitFor();
    },
  },
];

const moderatorShots: readonly Shot[] = [
  { name: "console-disputes", path: "/app/moderation/disputes", as: "dev" },
  { name: "console-dispute", path: ({ dispute }) => `/app/moderation/disputes/${dispute}`, as: "dev" },
  { name: "console-dispute-record", path: ({ dispute }) => `/app/disputes/${dispute}`, as: "bo" },
  { name: "console-dispute-decided", path: ({ decided }) => `/app/moderation/disputes/${decided}`, as: "dev" },
  { name: "console-people", path: "/app/moderation/users", as: "dev" },
  { name: "console-decisions", path: "/app/moderation/actions", as: "dev" },
  { name: "console-operations", path: "/app/moderation/operations", as: "dev" },
];

const text = (name: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(`${name}\n`.repeat(200)) });

const guideShots: readonly Shot[] = [
  {
    name: "guide-files",
    path: "/app/post",
    as: "ada",
    isKept: true,
    async prepare(page) {
      await page.getByLabel(/^Choose files/).setInputFiles(["footage.txt", "scenes.txt", "music.txt"].map(text));
      await page.getByRole("checkbox").nth(2).check();
    },
    part: (page) => page.getByRole("list", { name: "Files of the task" }).locator(".."),
  },
  {
    name: "guide-questions",
    path: ({ editable }) => `/app/tasks/${editable}`,
    as: "ada",
    isKept: true,
    part: (page) => page.locator("#questions"),
  },
  {
    name: "guide-conversation",
    path: ({ awardedBid }) => `/app/messages/${awardedBid}`,
    as: "ada",
    isKept: true,
    whole: false,
    prepare: (page) => page.getByText("00:00:07 Gulls").waitFor(),
  },
  {
    name: "guide-record",
    path: ({ dispute }) => `/app/disputes/${dispute}`,
    as: "ada",
    isKept: true,
    whole: false,
    prepare: (page) => page.getByText("00:00:09 Gulls").first().waitFor(),
  },
];

/** Every page that `npm run screenshots` shows and checks. A new kind of page gets a line here. */
export const shots: readonly Shot[] = [
  { name: "docs-home", path: "/docs" },
  { name: "docs-guide", path: "/docs/money" },
  { name: "docs-code", path: "/docs/webhooks" },
  { name: "docs-first-task", path: "/docs/first-task" },
  { name: "docs-operating", path: "/docs/operating" },
  { name: "docs-glossary", path: "/docs/glossary" },
  { name: "docs-architecture", path: "/docs/architecture" },
  { name: "docs-errors", path: "/docs/errors" },
  { name: "docs-diagrams", path: "/docs/contributing#a-request" },
  { name: "docs-reference", path: "/docs/reference" },
  {
    name: "docs-operation",
    path: "/docs/reference/wallet/read",
    as: "ada",
    async prepare(page) {
      await page.getByText("who is signed in here").waitFor();
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("availableCents").last().waitFor();
    },
  },
  { name: "docs-operation-with-body", path: "/docs/reference/tasks/create" },
  {
    name: "docs-search",
    path: "/docs",
    async prepare(page) {
      await page.getByRole("button", { name: "Search" }).click();
      await page.getByPlaceholder("Search guides and reference").fill("spend");
      await page.locator("dialog li").first().waitFor();
    },
  },
  {
    name: "docs-menu",
    path: "/docs/money",
    async prepare(page) {
      const menu = page.getByRole("button", { name: "Menu" });
      if (await menu.isVisible()) await menu.click();
    },
  },
  { name: "front-door", path: "/" },
  ...[...visitorShots, ...personShots, ...moderatorShots, ...guideShots].map(ofConsole),
  { name: "embedded-checkout", path: ({ checkout }) => checkout },
  { name: "embedded-onboarding", path: ({ onboarding }) => onboarding },
  { name: "embedded-mailbox", path: ({ mailbox }) => mailbox },
];
