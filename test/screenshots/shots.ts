import type { Page } from "playwright-core";

/** One page that is photographed, in every theme and width. */
export interface Shot {
  /** The beginning of the file's name. */
  name: string;
  path: string;
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

const isRead = (page: Page) => page.getByText("Loading…").waitFor({ state: "detached" });

const consoleShots: readonly Shot[] = [
  { name: "console-tasks", path: "/app/tasks", prepare: isRead },
  { name: "console-tasks-none", path: "/app/tasks?query=nothing-like-this", prepare: isRead },
  { name: "console-task-visitor", path: "/app/tasks", prepare: openTask },
  { name: "console-sign-in", path: "/app/sign-in" },
  { name: "console-sign-up", path: "/app/sign-up" },
  { name: "console-reset-password", path: "/app/reset-password#token=any" },
  { name: "console-overview", path: "/app", as: "ada", prepare: isRead },
  { name: "console-task-delivered", path: "/app", as: "ada", prepare: openTask },
  { name: "console-task-bids", path: "/app/tasks", as: "ada", prepare: openTask },
  { name: "console-task-bidder", path: "/app/tasks", as: "bo", prepare: openTask },
  {
    name: "console-award",
    path: "/app/tasks",
    as: "ada",
    async prepare(page) {
      await openTask(page);
      await page.getByRole("button", { name: "Award", exact: true }).first().click();
      await page.getByRole("alertdialog").waitFor();
    },
  },
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
  { name: "console-work", path: "/app/work?show=bids", as: "bo", prepare: isRead },
  { name: "console-wallet", path: "/app/wallet", as: "ada", prepare: isRead },
  { name: "console-top-up", path: "/app/wallet/top-up", as: "ada" },
  { name: "console-payouts", path: "/app/wallet/payouts", as: "bo", prepare: isRead },
  { name: "console-keys", path: "/app/keys", as: "ada" },
  { name: "console-webhooks", path: "/app/webhooks", as: "ada" },
  { name: "console-account", path: "/app/account", as: "ada", prepare: isRead },
  { name: "console-disputes", path: "/app/moderation/disputes", as: "dev", prepare: isRead },
  { name: "console-people", path: "/app/moderation/users", as: "dev", prepare: isRead },
  { name: "console-operations", path: "/app/moderation/operations", as: "dev" },
];

/** Every page that `npm run screenshots` shows and checks. A new kind of page gets a line here. */
export const shots: readonly Shot[] = [
  { name: "docs-home", path: "/docs" },
  { name: "docs-guide", path: "/docs/money" },
  { name: "docs-code", path: "/docs/webhooks" },
  { name: "docs-first-task", path: "/docs/first-task" },
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
  ...consoleShots,
];
