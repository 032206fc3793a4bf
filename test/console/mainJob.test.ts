import { describe, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole } from "./visitor.ts";

const service = useService({ worker: true });

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);

  test("two people do a whole task through the pages alone: from the top-up to the payout", async () => {
    const [ada, bo] = [await console.arrive("Ada"), await console.arrive("Bo")];
    await ada.signUp();
    await ada.topUp("50");

    await ada.open("/post");
    await ada.field("Title").fill("Translate a menu");
    await ada.field(/^Description/).fill("Two dishes.\nInto Finnish.");
    await ada.field("Budget").fill("40");
    await ada.page.getByText("Available afterwards").waitFor();
    await ada.sees("$10.00");
    await ada.button("Post the task").click();
    await ada.heading("Translate a menu").waitFor();
    const address = new URL(ada.page.url()).pathname.replace("/app", "");

    await bo.signUp();
    await bo.link("Browse").click();
    await bo.link("Translate a menu").click();
    await bo.field("Price").fill("30");
    await bo.field("Hours until the delivery").fill("24");
    await bo.field(/^Notes/).fill("I grew up with both languages.");
    await bo.button("Place the bid").click();
    await bo.heading("Your bid").waitFor();

    // It appears without a reload.
    await ada.button("Award").click();
    await ada.sees("Returns to your available balance");
    await ada.confirm("Award for $30.00");
    await ada.sees("The work is under way");

    await bo.sees("It is your turn: deliver");
    const file = { name: "menu.md", mimeType: "text/markdown", buffer: Buffer.from("# Lounas\n\nLohikeitto\n") };
    await bo.page.getByLabel(/Choose a sample/).setInputFiles(file);
    await bo.button("Upload the sample").click();
    await bo.heading("menu.md").waitFor();
    await bo.page.getByLabel(/Choose the delivery/).setInputFiles({ ...file, name: "final.md" });
    await bo.button("Deliver this file").click();
    await bo.sees("The buyer looks at your delivery");

    await ada.sees("It is your turn: look at the delivery");
    await ada.sees("Lohikeitto");
    await ada.button("Accept and pay").click();
    await ada.confirm("Pay $30.00");
    await ada.heading("Rate Bo").waitFor();
    await ada.page.getByText("★").nth(4).click();
    await ada.field(/^Comment/).fill("Fast and exact.");
    await ada.button("Send the rating").click();
    await ada.sees("Fast and exact.");

    await bo.heading("Rate Ada").waitFor();
    await bo.link("Wallet").click();
    await bo.sees("Earned with a task");
    await bo.page.getByRole("navigation", { name: "Wallet" }).getByRole("link", { name: "Payouts" }).click();
    await bo.sees("Your bank details are needed first");
    expect(await bo.field("Amount").count()).toBe(0);
    await bo.button("Enter the bank details").click();
    await bo.button("Finish setup").click();
    await bo.sees("Your bank details are complete");
    await bo.field("Amount").fill("30");
    await bo.button("Request the payout").click();
    await bo.page.getByText("Paid", { exact: true }).waitFor();

    expect(address).toMatch(/^\/tasks\//);
    const { database } = service.services;
    const rows = await database.query(sql`
      SELECT u.display_name AS name, w.available_cents AS available, w.held_cents AS held
      FROM wallets w JOIN users u ON u.id = w.user_id ORDER BY name`);
    expect(rows).toEqual([
      { name: "Ada", available: 2_000, held: 0 },
      { name: "Bo", available: 0, held: 0 },
    ]);
  });

  test("a moderator divides the money of a disputed delivery with the slider", async () => {
    const [ada, bo, mo] = [await console.arrive("Ada"), await console.arrive("Bo"), await console.arrive("Mo")];
    await mo.signUp();
    await service.services.database.query(sql`UPDATE users SET role = 'moderator' WHERE email = ${mo.email}`);
    await ada.signUp();
    await ada.topUp("20");
    await ada.postTask({ title: "Count the birds", budget: "20" });
    const { pathname } = new URL(ada.page.url());
    await bo.signUp();
    await bo.open(pathname.replace("/app", ""));
    await bo.field("Price").fill("20");
    await bo.field("Hours until the delivery").fill("1");
    await bo.button("Place the bid").click();
    await ada.button("Award").click();
    await ada.confirm("Award for $20.00");
    await bo.page.getByLabel(/Choose the delivery/).setInputFiles({
      name: "birds.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("many"),
    });
    await bo.button("Deliver this file").click();
    await ada.button("Open a dispute").click();
    await ada.field("What is wrong?").fill("No");
    await ada.confirm("Open the dispute");
    await ada.sees("must have at least 10 characters");
    await ada.field("What is wrong?").fill("“Many” is not a number of birds.");
    await ada.confirm("Open the dispute");
    await ada.sees("This task is disputed");

    await mo.open("/moderation/disputes");
    await mo.link("Count the birds").click();
    await mo.sees("“Many” is not a number of birds.");
    await mo.page.getByText("many", { exact: true }).waitFor();
    const slider = mo.page.getByRole("slider", { name: "The bidder's share" });
    await slider.focus();
    await mo.page.keyboard.press("Home");
    await mo.button("Return everything").waitFor();
    await slider.fill("500");
    await mo.button("Divide it").click();
    await mo.field(/^Note/).fill("A quarter of the work was there.");
    await mo.confirm("Decide the dispute");
    await mo.sees("It was divided.");
    await bo.sees("A quarter of the work was there.");
    await bo.sees("$5.00");

    await mo.open("/moderation/actions");
    await mo.sees("decided a dispute");
    await mo.open("/moderation/users");
    await mo.field("Name, address or id").fill(bo.email);
    await mo.button("Find").click();
    await mo.page.getByRole("listitem").filter({ hasText: bo.email }).getByRole("button", { name: "Suspend" }).click();
    await mo.confirm("Suspend");
    await mo.page.locator("[aria-invalid=true]").waitFor();
    await mo.field("Reason").fill("Delivers one word.");
    await mo.confirm("Suspend");
    await mo.page.getByText("Suspended", { exact: true }).waitFor();
    await bo.page.reload();
    await bo.link("Sign in").first().waitFor();
    await mo.open("/moderation/operations");
    await mo.heading("Payouts under way").waitFor();
  });
});
