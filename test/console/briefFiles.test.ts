import { beforeAll, describe, expect, test } from "vitest";
import { pngFile } from "../factories/files.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService();

const text = (name: string, content: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });

/** The files of a new task, in their order. */
const chosen = ({ page }: Visitor) => page.getByRole("list", { name: "Files of the task" }).getByRole("listitem");
const namesIn = async (visitor: Visitor) =>
  (await chosen(visitor).allInnerTexts()).map((text) => /\w+\.txt/.exec(text)?.[0]);

/** Where the handle of a row is, and a point in the lower half of another row. */
async function pathOf(visitor: Visitor, from: number, to: number) {
  const boxOf = async (row: number) => {
    const box = await chosen(visitor).nth(row).boundingBox();
    if (box === null) throw new Error(`there is no row ${row}`);
    return box;
  };
  const handle = await chosen(visitor).nth(from).locator("[title]").boundingBox();
  if (handle === null) throw new Error(`row ${from} has no handle`);
  const [start, end] = [await boxOf(from), await boxOf(to)];
  const y = to > from ? end.y + 0.75 * end.height : end.y + 0.25 * end.height;
  return { x: handle.x + handle.width / 2, from: start.y + start.height / 2, to: y };
}

/** Drags a row by its handle to the place of another, with the mouse. */
async function dragByMouse(visitor: Visitor, from: number, to: number): Promise<void> {
  const { mouse } = visitor.page;
  const path = await pathOf(visitor, from, to);
  await mouse.move(path.x, path.from);
  await mouse.down();
  await mouse.move(path.x, path.to, { steps: 8 });
  await mouse.up();
}

/** The same with a finger. */
async function dragByFinger(visitor: Visitor, from: number, to: number): Promise<void> {
  const client = await visitor.context.newCDPSession(visitor.page);
  const path = await pathOf(visitor, from, to);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", y?: number) =>
    client.send("Input.dispatchTouchEvent", { type, touchPoints: y === undefined ? [] : [{ x: path.x, y }] });
  await touch("touchStart", path.from);
  for (let step = 1; step <= 8; step++) await touch("touchMove", path.from + (step / 8) * (path.to - path.from));
  await touch("touchEnd");
}

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

  test("files of a new task change places by mouse, finger and keyboard, which keeps its place on the moved file", async () => {
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    await ada.open("/post");
    const files = ["one.txt", "two.txt", "three.txt", "four.txt"].map((name) => text(name, name));
    await ada.page.getByLabel(/^Choose files/).setInputFiles(files);
    await chosen(ada).nth(3).waitFor();
    await chosen(ada).nth(3).scrollIntoViewIfNeeded();

    await dragByMouse(ada, 0, 2);
    expect(await namesIn(ada)).toEqual(["two.txt", "three.txt", "one.txt", "four.txt"]);
    await dragByMouse(ada, 3, 0);
    expect(await namesIn(ada)).toEqual(["four.txt", "two.txt", "three.txt", "one.txt"]);
    // Once it is let go, nothing follows the pointer.
    await ada.page.mouse.move(0, 0);
    expect(await namesIn(ada)).toEqual(["four.txt", "two.txt", "three.txt", "one.txt"]);
    await dragByFinger(ada, 0, 3);
    expect(await namesIn(ada)).toEqual(["two.txt", "three.txt", "one.txt", "four.txt"]);

    await ada.button("Move one.txt up").focus();
    await ada.page.keyboard.press("Enter");
    await ada.page.getByRole("status").filter({ hasText: "one.txt is number 2 of 4." }).waitFor({ state: "attached" });
    await ada.page.keyboard.press("Enter");
    expect(await namesIn(ada)).toEqual(["one.txt", "two.txt", "three.txt", "four.txt"]);
    // At the top there is only down.
    expect((await ada.page.locator(":focus").innerText()).trim()).toContain("Move one.txt down");
    for (let presses = 0; presses < 3; presses++) await ada.page.keyboard.press("Enter");
    expect(await namesIn(ada)).toEqual(["two.txt", "three.txt", "four.txt", "one.txt"]);
    expect((await ada.page.locator(":focus").innerText()).trim()).toContain("Move one.txt up");
    await ada.isAccessible();
    await ada.page.setViewportSize({ width: 390, height: 800 });
    await ada.fits();
  });

  test("when an upload fails, the rest can be sent later, or be left out; nothing is sent twice", async () => {
    const ada = await console.arrive("Ada");
    await ada.enterAs(buyer);
    const post = async (title: string) => {
      await ada.open("/post");
      await ada.field("Title").fill(title);
      await ada.field(/^Description/).fill("All pages.");
      await ada.field("Budget").fill("20");
      const files = ["one.txt", "two.txt", "three.txt"].map((name) => text(name, `content of ${name}`));
      await ada.page.getByLabel(/^Choose files/).setInputFiles(files);
      await ada.button("Post the task").click();
    };
    // The object store cannot be reached once one file is there.
    const store = `${service.services.storage.origin}/**`;
    let left = 1;
    await ada.page.route(store, (route) =>
      route.request().method() === "PUT" && left-- <= 0 ? route.abort() : route.continue(),
    );
    const shown = () => ada.page.locator("#files").getByRole("heading", { level: 3 }).allInnerTexts();

    await post("Translate three pages");
    await ada.sees("The service cannot be reached.");
    await ada.isAccessible();
    left = 0;
    await ada.button("Try again").click();
    await ada.sees("The service cannot be reached.");
    left = 2;
    await ada.button("Try again").click();
    await ada.heading("Translate three pages").waitFor();
    await ada.heading("three.txt").waitFor();
    expect(await shown()).toEqual(["one.txt", "two.txt", "three.txt"]);

    left = 2;
    await post("Translate two pages of three");
    await ada.sees("The service cannot be reached.");
    await ada.button("Go on without the rest").click();
    await ada.heading("two.txt").waitFor();
    expect(await shown()).toEqual(["one.txt", "two.txt"]);
  });
});
