import { beforeAll, describe, expect, test } from "vitest";
import { tellAll } from "../factories/notifications.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask, placeBid, postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService();

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;
  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 100_000 });
    bidder = await createPerson(service);
  });

  const bell = ({ page }: Visitor) => page.getByRole("link", { name: /^Notifications, / });
  const unreadOf = async (person: TestPerson) => (await person.get("/auth/me")).body.unreadCount;

  /** Clicks, and says whether the box shows it after microtasks alone. */
  const tick = async (box: { click(): void; checked: boolean }) => {
    box.click();
    for (let turn = 0; turn < 20; turn++) await null;
    return box.checked;
  };

  test("the bell and the title count what happens while the page is open, and the inbox shows it as text and as read", async () => {
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open("/work");
    await ada.heading("My work").waitFor();
    const title = "<img src=x onerror=alert(1)> pages";
    const task = await postTask(buyer, { title });
    await placeBid(bidder, task.id, { priceCents: 1_234 });
    await tellAll(service);
    await expect.poll(() => bell(ada).getAttribute("aria-label")).toBe("Notifications, 1 unread");
    await expect.poll(() => ada.page.title()).toBe("(1) My work · Rebid");

    await bell(ada).click();
    await ada.heading("Notifications").waitFor();
    const row = ada.page.getByRole("list", { name: "Notifications" }).getByRole("listitem").first();
    await expect.poll(() => row.textContent()).toContain(title);
    expect(await row.textContent()).toContain("$12.34");
    await expect.poll(() => bell(ada).getAttribute("aria-label")).toBe("Notifications, 0 unread");
    expect(await unreadOf(buyer)).toBe(0);
    await row.getByRole("link").click();
    await ada.heading(title).waitFor();
    expect(new URL(ada.page.url()).pathname).toBe(`/app/tasks/${task.id}`);
  });

  test("“Needs you” has what still waits, and no longer once it is done", async () => {
    const ada = await console.arrive("Ada");
    const person = await createPerson(service, { cents: 100_000 });
    await ada.enterAs(person);
    const { task } = await deliveredTask(person, bidder);
    await tellAll(service);
    await ada.open("/notifications?show=waiting");
    const rows = ada.page.getByRole("list", { name: "Notifications" }).getByRole("listitem");
    await expect.poll(() => rows.count()).toBe(1);
    expect(await rows.first().textContent()).toContain("Needs you");
    await person.post(`/tasks/${task.id}/accept`);
    await ada.sees("Nothing needs you");
    await ada.link("All").click();
    await expect.poll(() => rows.count()).toBeGreaterThan(1);
  });

  test("how one is told is saved at each choice, and the time zone is the browser's until another is chosen", async () => {
    const bo = await console.arrive("Bo");
    await bo.signUp();
    await bo.open("/account");
    const zone = bo.field("The daily mail comes at 8:00 in");
    const own = await bo.page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone");
    await expect.poll(() => zone.inputValue()).toBe(own);
    await zone.selectOption("Asia/Tokyo");
    const work = bo.field("Work by mail");
    await work.selectOption("daily");
    await bo.sees("Saved.");
    // Shown before any timer or answer, and saved again.
    expect(await bo.field("New tasks in browsers").evaluate(tick)).toBe(true);
    await bo.sees("Saved.");
    await expect(bo.field("Account by mail").locator("option").allTextContents()).resolves.toEqual([
      "At once",
      "Once a day",
    ]);
    await expect.poll(() => bo.page.locator("input:checked").count()).toBe(1);
    await bo.page.reload();
    await expect.poll(() => work.inputValue()).toBe("daily");
    expect(await bo.field("New tasks in browsers").isChecked()).toBe(true);
    expect(await zone.inputValue()).toBe("Asia/Tokyo");
  });
});
