import { beforeAll, describe, expect, test } from "vitest";
import { pngFile } from "../factories/files.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, placeBid, postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService();

/** Hands files to the place to write as a drop or a paste does, and returns whether the browser would then go on by itself. */
const give = ({ page }: Visitor, kind: "drop" | "paste", names: readonly string[]) =>
  page.evaluate<boolean>(`((kind, names) => {
    const data = new DataTransfer();
    for (const name of names) data.items.add(new File(["content of " + name + "\\n.".repeat(12)], name, { type: "text/plain" }));
    const options = { bubbles: true, cancelable: true, dataTransfer: data, clipboardData: data };
    const event = kind === "drop" ? new DragEvent(kind, options) : new ClipboardEvent(kind, options);
    return document.querySelector("textarea[name=text]").dispatchEvent(event);
  })(${JSON.stringify(kind)}, ${JSON.stringify(names)})`);

const box = ({ page }: Visitor) => page.getByRole("textbox", { name: "Message" });

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;

  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 100_000 });
    bidder = await createPerson(service);
  });

  test("two people talk beside a task: live, with unread marks, a draft that survives a reload, and files", async () => {
    const { bid } = await awardedTask(buyer, bidder);
    const [ada, bo] = [await console.arrive("Ada"), await console.arrive("Bo")];
    await ada.enterAs(buyer);
    await bo.enterAs(bidder);
    await bo.open("/work");
    await bo.heading("My work").waitFor();
    await ada.open(`/tasks/${bid.taskId}`);
    await ada.link(/^Messages with/).click();
    await ada.sees("Nobody has written yet.");
    await box(ada).fill("A draft: https://evil.example <b>now</b>");
    await ada.page.reload();
    await ada.link(/^Messages with/).click();
    expect(await box(ada).inputValue()).toBe("A draft: https://evil.example <b>now</b>");
    await box(ada).press("Enter");
    const said = ada.page.getByRole("log").getByText("A draft: https://evil.example <b>now</b>", { exact: true });
    await said.waitFor();
    expect(await ada.page.getByRole("log").getByRole("link").count()).toBe(0);
    await expect.poll(() => box(ada).inputValue()).toBe("");

    // The other side learns of it where they are.
    const messages = bo.page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /^Messages/ });
    await expect.poll(() => messages.innerText()).toMatch(/1/);
    await expect.poll(() => bo.page.title()).toMatch(/^\(1\) /);
    await messages.click();
    await bo.sees("1 unread");
    await bo.page.getByRole("list", { name: "Conversations" }).getByRole("link").click();
    await bo.page.getByRole("log").getByText("A draft").waitFor();
    await expect.poll(() => bo.page.title()).not.toMatch(/^\(/);

    const picture = { name: "page.png", mimeType: "image/png", buffer: pngFile(320, 200) };
    await bo.page.getByLabel("Attach files").setInputFiles(picture);
    await bo.page.getByRole("list", { name: "Attached files" }).getByText("page.png").first().waitFor();
    await bo.page.getByRole("progressbar").waitFor({ state: "detached" });
    await bo.button("Send").click();
    await ada.page.getByRole("log").getByRole("img", { name: "page.png" }).waitFor();
    await bo.isAccessible();
    await bo.link(/^Translate page/).click();
    await bo.heading("Description").waitFor();
  });

  test("on a phone a conversation is its own page", async () => {
    const { bid } = await awardedTask(buyer, bidder);
    const ada = await console.arrive("Ada");
    await ada.page.setViewportSize({ width: 390, height: 800 });
    await ada.enterAs(buyer);
    await ada.open(`/tasks/${bid.taskId}`);
    await ada.link(/^Messages with/).click();
    await ada.sees("About the bid of $80.00 on");
    await box(ada).fill("Hello?");
    await ada.button("Send").click();
    await ada.page.getByRole("log").getByText("Hello?").waitFor();
    await ada.fits();
  });

  test("files are dropped and pasted into a message, text is pasted as ever, and what is removed is not sent", async () => {
    const { bid } = await awardedTask(buyer, bidder);
    for (let count = 1; count <= 12; count++)
      await bidder.post(`/bids/${bid.id}/messages`, { text: `Message ${count}` });
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open(`/messages/${bid.id}`);
    const attached = ada.page.getByRole("list", { name: "Attached files" });
    await box(ada).waitFor();
    // Handled: the browser neither opens the file nor pastes its name.
    expect(await give(ada, "drop", ["dropped.txt", "wrong.txt"])).toBe(false);
    expect(await give(ada, "paste", ["pasted.txt"])).toBe(false);
    expect(await give(ada, "paste", [])).toBe(true);
    for (const name of ["dropped.txt", "wrong.txt", "pasted.txt"]) await attached.getByText(name).first().waitFor();
    await ada.page.getByRole("progressbar").first().waitFor({ state: "detached" });
    await ada.button("Remove wrong.txt").click();
    await ada.button("Send").click();
    const message = ada.page.getByRole("log").locator("article", { has: ada.page.getByText("You", { exact: true }) });
    for (const name of ["dropped.txt", "pasted.txt"]) {
      await message.getByText(`content of ${name}`).waitFor();
    }
    // In the order in which their uploads ended.
    expect((await message.getByRole("heading").allInnerTexts()).sort()).toEqual(["dropped.txt", "pasted.txt"]);
    await expect.poll(() => attached.count()).toBe(0);
    // The files are loaded after the message, and push its end down.
    await ada.page.reload();
    for (const name of ["dropped.txt", "pasted.txt"]) await message.getByText(`content of ${name}`).waitFor();
    const distance = () =>
      ada.page.evaluate<number>(`(() => {
        const log = document.querySelector("[role=log]").getBoundingClientRect();
        const files = document.querySelectorAll("[role=log] [role=group]");
        return files[files.length - 1].getBoundingClientRect().bottom - log.bottom;
      })()`);
    await expect.poll(distance).toBeLessThan(0);
  });

  test("unread messages are counted over all conversations, more than the list shows at first", async () => {
    const reader = await createPerson(service, { cents: 100_000 });
    const { id } = await postTask(reader, { maxBudgetCents: 100_000 });
    const bidders = await Promise.all(Array.from({ length: 27 }, () => createPerson(service)));
    const bids = [];
    for (const person of bidders) {
      const bid = await placeBid(person, id);
      await person.post(`/bids/${bid.id}/messages`, { text: "May I ask something?" });
      bids.push(bid);
    }
    const ada = await console.arrive("Ada");
    await ada.enterAs(reader);
    await ada.open("/messages");
    const messages = ada.page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /^Messages/ });
    await expect.poll(() => messages.innerText()).toMatch(/27/);
    const listed = ada.page.getByRole("list", { name: "Conversations" }).getByRole("listitem");
    await expect.poll(() => listed.count()).toBe(25);
    await expect.poll(() => ada.page.title()).toMatch(/^\(27\) /);
    // The one that was written first, which is not in the list yet.
    await ada.open(`/messages/${bids[0]?.id}`);
    await expect.poll(() => ada.page.title()).toMatch(/^\(26\) /);
    await bidders[1]?.post(`/bids/${bids[1]?.id}/messages`, { text: "And another thing." });
    await expect.poll(() => ada.page.title()).toMatch(/^\(27\) /);
  });
});
