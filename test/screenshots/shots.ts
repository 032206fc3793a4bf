import type { Page } from "playwright-core";

/** One page that is photographed, in every theme and width. */
export interface Shot {
  /** The beginning of the file's name. */
  name: string;
  path: string;
  /** The person of `npm run seed` who is signed in. */
  as?: "ada" | "bo";
  /** What is done on the page before the picture. */
  prepare?(page: Page): Promise<void>;
}

export const themes = ["light", "dark"] as const;
/** A phone, a tablet and a laptop, in CSS pixels. */
export const widths = [390, 768, 1280] as const;

/** Every page that `npm run screenshots` shows and checks. A new kind of page gets a line here. */
export const shots: readonly Shot[] = [
  { name: "docs-home", path: "/docs" },
  { name: "docs-guide", path: "/docs/money" },
  { name: "docs-code", path: "/docs/webhooks" },
  { name: "docs-first-task", path: "/docs/first-task" },
  { name: "docs-errors", path: "/docs/errors" },
  { name: "docs-architecture", path: "/docs/architecture" },
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
  { name: "account-reset", path: "/account/reset#token" },
];
