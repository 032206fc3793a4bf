import { beforeAll, describe, expect, test } from "vitest";
import { pngFile } from "../factories/files.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole } from "./visitor.ts";

const service = useService();

const text = (name: string, content: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;

  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 100_000 });
    bidder = await createPerson(service);
  });

  test("files of a new task are put in order before it is posted, and bidders see them in place, but not the private one", async () => {
    const [ada, bo] = [await console.arrive("Ada"), await console.arrive("Bo")];
    await ada.enterAs(buyer);
    await bo.enterAs(bidder);
    await ada.open("/post");
    await ada.field("Title").fill("Translate two pages");
    await ada.field(/^Description/).fill("Both pages.");
    await ada.field("Budget").fill("20");
    const picture = { name: "pretender.jpg", mimeType: "image/jpeg", buffer: pngFile(10, 10) };
    const files = [
      text("second.txt", "page two"),
      text("first.txt", "page one"),
      text("secret.txt", "salaries"),
      picture,
    ];
    await ada.page.getByLabel(/^Choose files/).setInputFiles([...files, text("wrong.txt", "wrong")]);
    await ada.button("Move first.txt up").click();
    await ada.button("Remove wrong.txt").click();
    await ada.page.getByRole("listitem").filter({ hasText: "secret.txt" }).getByRole("checkbox").check();
    await ada.isAccessible();
    await ada.button("Post the task").click();
    await ada.heading("Translate two pages").waitFor();
    await ada.heading("pretender.jpg").waitFor();
    const names = await ada.page.locator("#files").getByRole("heading", { level: 3 }).allInnerTexts();
    expect(names).toEqual(["first.txt", "second.txt", "secret.txt", "pretender.jpg"]);
    await ada.page.getByText("salaries", { exact: true }).waitFor();

    await bo.open(new URL(ada.page.url()).pathname.replace("/app", ""));
    await bo.page.getByText("page one", { exact: true }).waitFor();
    const file = (name: string) => bo.page.getByRole("article").filter({ has: bo.page.getByRole("heading", { name }) });
    await file("secret.txt").getByText("For the awarded bidder").waitFor();
    expect(await file("secret.txt").getByRole("link").count()).toBe(0);
    await file("pretender.jpg").getByText("It was declared as image/jpeg, but it is image/png.").waitFor();
    expect(await file("pretender.jpg").locator("img").count()).toBe(0);
    expect(await bo.button("Remove").count()).toBe(0);

    await ada.page
      .getByRole("article")
      .filter({ hasText: "secret.txt" })
      .getByRole("button", { name: "Remove" })
      .click();
    await ada.confirm("Remove the file");
    await ada.heading("secret.txt").waitFor({ state: "detached" });
    await ada.page.getByLabel(/^Choose files/).setInputFiles(text("third.txt", "page three"));
    await ada.page.getByText("page three", { exact: true }).waitFor();
  });
});
