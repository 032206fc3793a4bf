import { beforeAll, describe, expect, test } from "vitest";
import { pngFile } from "../factories/files.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService();

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
    expect(await box(ada).inputValue()).toBe("");

    // The other side learns of it where they are.
    const messages = bo.page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /^Messages/ });
    await expect.poll(() => messages.innerText()).toMatch(/1/);
    expect(await bo.page.title()).toMatch(/^\(1\) /);
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
});
