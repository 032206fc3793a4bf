import { beforeAll, describe, expect, test } from "vitest";
import { checkDelivery } from "../../server/market/checks/checkDelivery.ts";
import {
  awardedWithChecks,
  deliverJudged,
  externalCheck,
  type ReportingKey,
  report,
  reportingKey,
  sizeCheck,
} from "../factories/checks.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { disputeReason, placeBid, postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService();

/** If it ever became more than text, the window would have another title. */
const script = "<img src=x onerror=document.title=9>\u202eb";

const text = (content: string) => ({ name: "page.txt", mimeType: "text/plain", buffer: Buffer.from(content) });
const taskOf = async (person: TestPerson, id: string) => (await person.get(`/tasks/${id}`)).body.task;
const idIn = ({ page }: Visitor) => new URL(page.url()).pathname.split("/").at(-1) ?? "";
const listed = ({ page }: Visitor, name: string) => page.getByRole("list", { name, exact: true }).getByRole("listitem");

async function startTask(visitor: Visitor): Promise<void> {
  await visitor.open("/post");
  await visitor.field("Title").fill("Translate one page");
  await visitor.field(/^Description/).fill("All of it.");
  await visitor.field("Budget").fill("20");
}

/** Adds a check by the label of what is offered. */
async function add(visitor: Visitor, offer: string): Promise<void> {
  const offers = visitor.page.getByText(/^Add a(nother)? check$/);
  if (!(await visitor.button(offer).isVisible())) await offers.click();
  await visitor.button(offer).click();
}

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;
  let key: ReportingKey;

  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 1_000_000 });
    bidder = await createPerson(service);
    key = await reportingKey(service, buyer);
  });

  async function enter(name: string, person: TestPerson): Promise<Visitor> {
    const visitor = await console.arrive(name);
    await visitor.enterAs(person);
    return visitor;
  }

  test("whatever a person can ask for in words is what the task is posted with, in their order", async () => {
    const ada = await enter("Ada", buyer);
    await startTask(ada);
    const row = (index: number) => listed(ada, "Checks").nth(index);
    const fill = (index: number, label: string | RegExp, value: string) => row(index).getByLabel(label).fill(value);
    await add(ada, "A PDF of at most 10 MB");
    await add(ada, "A text of so many words");
    await fill(2, "At least, words", "2");
    await fill(2, "At most, words", "1,000");
    await fill(2, /^It contains/, "Sources\n\n Links ");
    await add(ada, "A text that matches a pattern");
    await fill(3, "Pattern", "(?m)^# ");
    await add(ada, "JSON that fits a schema");
    await fill(4, "JSON Schema", '{"type": "array"}');
    await add(ada, "A CSV with these columns");
    await fill(5, /^Columns/, "id\nname");
    await fill(5, /^At least, rows/, "1");
    await add(ada, "An image of so many pixels");
    await fill(6, /^At least, pixels wide/, "800");
    await add(ada, "A zip with these files");
    await fill(7, "Files in the zip", "README.md");
    await add(ada, "Exactly this file (SHA-256)");
    await fill(8, "SHA-256", "A".repeat(64));
    await row(8)
      .getByLabel(/^It must pass/)
      .uncheck();
    await add(ada, "My own program reports");
    await row(9)
      .getByLabel(/^Hide the reasons/)
      .check();
    // Ten are the most.
    await expect.poll(() => ada.page.getByText("Add another check").count()).toBe(0);
    await row(0).getByLabel("Kind of file").selectOption({ label: "Something else" });
    await fill(0, "MIME types", "image/webp, image/gif");
    await ada.button("Move Size up").click();
    await ada.sees(/^a text of 2 to 1,000 words, and that contains “Sources” and “Links”$/);
    await ada.field(/^Pay by itself/).check();
    await ada.field("Minutes that you have").fill("30");
    await ada.isAccessible();
    await ada.page.setViewportSize({ width: 375, height: 800 });
    await ada.fits();
    await ada.button("Post the task").click();
    await ada.heading("Translate one page").waitFor();
    const task = await taskOf(buyer, idIn(ada));
    expect(task.acceptOnChecks).toEqual({ afterMinutes: 30 });
    const required = true;
    expect(task.checks).toEqual([
      { name: "Size", required, kind: "size", maxBytes: 10_000_000 },
      { name: "Kind of file", required, kind: "type", types: ["image/webp", "image/gif"] },
      {
        ...{ name: "Length", required, kind: "text", contains: ["Sources", "Links"] },
        matches: "^\\s*\\S+(?:\\s+\\S+){1,999}\\s*$",
      },
      { name: "Pattern", required, kind: "text", matches: "(?m)^# " },
      { name: "Structure", required, kind: "json_schema", schema: { type: "array" } },
      { name: "Columns", required, kind: "csv", columns: ["id", "name"], minRows: 1 },
      { name: "Resolution", required, kind: "image", minWidth: 800 },
      { name: "Contents", required, kind: "archive", paths: ["README.md"] },
      { name: "Checksum", required: false, kind: "sha256", sha256: "a".repeat(64) },
      { name: "Tests", required, kind: "external", keyId: key.id, hidden: true },
    ]);
    // Saving without a change changes nothing; taking one away takes only that one.
    await ada.open(`/edit/${task.id}`);
    await listed(ada, "Checks").nth(9).waitFor();
    await ada.button("Save").click();
    await ada.heading("Translate one page").waitFor();
    expect((await taskOf(buyer, task.id)).checks).toEqual(task.checks);
    await ada.open(`/edit/${task.id}`);
    await ada.button("Remove Columns").click();
    await ada.button("Save").click();
    await ada.heading("Translate one page").waitFor();
    expect((await taskOf(buyer, task.id)).checks).toEqual(task.checks.toSpliced(5, 1));
  });

  test("a check that was agreed over the API stays as it is when something else is changed", async () => {
    const contains = ["  Lounas", "two\nlines"];
    const checks = [{ name: "Greets", required: true, kind: "text", contains }];
    const task = await postTask(buyer, { title: "Translate a menu", checks });
    const ada = await enter("Ada", buyer);
    await ada.open(`/edit/${task.id}`);
    await listed(ada, "Checks").first().waitFor();
    await ada.field("Title").fill("Translate two menus");
    await ada.button("Save").click();
    await ada.heading("Translate two menus").waitFor();
    expect((await taskOf(buyer, task.id)).checks).toEqual(task.checks);
  });

  test("what the service refuses of a check stands beside its field, and a reload loses no check", async () => {
    const ada = await enter("Ada", buyer);
    await startTask(ada);
    await add(ada, "A size");
    await add(ada, "A text that matches a pattern");
    const row = (index: number) => listed(ada, "Checks").nth(index);
    await row(1).getByLabel("Pattern").fill("(?=a)");
    await row(1).getByLabel("Name").fill("Size");
    await ada.button("Post the task").click();
    await row(0).getByText("Fill in at least one of its numbers.").waitFor();
    await row(0)
      .getByLabel(/^At most, in MB/)
      .fill("0.5");
    await ada.button("Post the task").click();
    await ada.sees("The checks must have different names.");
    await row(1).getByLabel("Name").fill("Heading");
    await ada.button("Post the task").click();
    await row(1)
      .getByText(/^Pattern: ?cannot be used|Cannot be used/)
      .waitFor();
    await expect.poll(() => ada.page.locator(":focus").getAttribute("name")).toBe("checks.1.matches");
    await row(1).getByLabel("Pattern").fill("");
    await row(1).getByLabel("Pattern").pressSequentially("a+");
    await ada.page.reload();
    await row(1).waitFor();
    expect(
      await row(0)
        .getByLabel(/^At most, in MB/)
        .inputValue(),
    ).toBe("0.5");
    expect(await row(1).getByLabel("Pattern").inputValue()).toBe("a+");
    for (const index of [0, 1])
      await row(index)
        .getByLabel(/^It must pass/)
        .uncheck();
    await ada.field(/^Pay by itself/).check();
    await ada.button("Post the task").click();
    await ada.sees(/Needs at least one check that is required|needs at least one check/i);
    await row(0)
      .getByLabel(/^It must pass/)
      .check();
    await ada.button("Post the task").click();
    await ada.heading("Translate one page").waitFor();
    const { checks } = await taskOf(buyer, idIn(ada));
    expect(checks).toMatchObject([{ maxBytes: 500_000 }, { name: "Heading", matches: "a+", required: false }]);
    // A task that was posted leaves nothing behind for the next one.
    await ada.open("/post");
    await ada.page.getByText("Add a check", { exact: true }).waitFor();
  });

  test("a buyer tries checks on a file before posting; a change makes what it came to go away", async () => {
    const ada = await enter("Ada", buyer);
    await startTask(ada);
    const tryOn = (content: string) => ada.page.getByLabel(/^Try them on a file/).setInputFiles(text(content));
    await add(ada, "A text of so many words");
    await tryOn("two words");
    await ada.sees("Check 1, “Length”: Fill in at least one of its numbers.");
    await ada.field("At least, words").fill("3");
    await add(ada, "My own program reports");
    await ada.field("The key that reports").waitFor();
    await tryOn("two words");
    await ada.sees("0 of 2 checks passed");
    await ada.sees("Is judged by the buyer’s program after the delivery");
    await ada.isAccessible();
    await ada.page.setViewportSize({ width: 375, height: 800 });
    await ada.fits();
    await ada.field("At least, words").fill("2");
    await ada.page.getByText("0 of 2 checks passed").waitFor({ state: "detached" });
    await tryOn("two words");
    await ada.sees("1 of 2 checks passed");
    await tryOn("a".repeat(150_001));
    await ada.sees("A file to try here has 1 byte to 150 kB.");
    await ada.field("At most, words").fill("many");
    await tryOn("two words");
    await ada.sees("Check 1, “Length”: Write a number.");
  });

  test("the keyboard alone adds a check, fills it in and moves it", async () => {
    const ada = await enter("Ada", buyer);
    await startTask(ada);
    const focusOn = async (name: string) => {
      await ada.page.getByText(name, { exact: true }).focus();
      await ada.page.keyboard.press("Enter");
    };
    await focusOn("Add a check");
    await ada.button("A text of so many words").focus();
    await ada.page.keyboard.press("Enter");
    // The focus is on the first field of the new check.
    await expect.poll(() => ada.page.locator(":focus").getAttribute("name")).toBe("checks.0.minWords");
    await ada.page.keyboard.type("3");
    await ada.button("A size").focus();
    await ada.page.keyboard.press("Enter");
    await expect.poll(() => ada.page.locator(":focus").getAttribute("name")).toBe("checks.1.maxBytes");
    await ada.page.keyboard.type("1");
    await ada.button("Move Size up").focus();
    await ada.page.keyboard.press("Enter");
    await ada.page.getByRole("status").filter({ hasText: "Size is number 1 of 2." }).waitFor({ state: "attached" });
    await ada.button("Post the task").focus();
    await ada.page.keyboard.press("Enter");
    await ada.heading("Translate one page").waitFor();
    expect((await taskOf(buyer, idIn(ada))).checks.map(({ kind }: { kind: string }) => kind)).toEqual(["size", "text"]);
  });

  test("a bidder sees what a delivery is judged by before bidding, and tries a file before it is delivered, once sent", async () => {
    const checks = [
      sizeCheck,
      { name: "Three words", required: true, kind: "text", matches: "^\\s*\\S+(?:\\s+\\S+){2,}\\s*$" },
    ];
    const task = await postTask(buyer, { checks, acceptOnChecks: { afterMinutes: 60 } });
    const bo = await enter("Bo", bidder);
    await bo.open(`/tasks/${task.id}`);
    await bo.heading("Checked by itself").waitFor();
    await bo.sees("a text of at least 3 words");
    await bo.sees("Pays by itself");
    await bo.isAccessible();
    const bid = await placeBid(bidder, task.id);
    await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
    await bo.sees("It is your turn: deliver");
    await bo.page.getByLabel(/^Choose the delivery/).setInputFiles(text("two words"));
    await bo.button("Try the checks first").click();
    await bo.sees("1 of 2 checks passed");
    expect(await listed(bo, "What the checks would say").allInnerTexts()).toEqual([
      expect.stringContaining("Passed"),
      expect.stringMatching(/Failed[\s\S]*It has another number of words\.[\s\S]*Agreed/),
    ]);
    await bo.isAccessible();
    await bo.page.setViewportSize({ width: 375, height: 800 });
    await bo.fits();
    await bo.button("Choose another file").click();
    let sent = 0;
    bo.page.on("request", (request) => (sent += request.method() === "PUT" ? 1 : 0));
    await bo.page.getByLabel(/^Choose the delivery/).setInputFiles(text("now three words"));
    await bo.button("Try the checks first").click();
    await bo.sees("All 2 checks have passed");
    await bo.button("Deliver this file").click();
    await bo.sees("The buyer looks at your delivery");
    expect(sent).toBe(1);
    const { deliveries } = (await bidder.get(`/tasks/${task.id}`)).body;
    await checkDelivery(service.services, { deliveryId: deliveries[0].id });
    await bo.sees("The checks have passed");
    expect(await listed(bo, "What the checks say").count()).toBe(2);
  });

  test("a report appears on the open page of both sides, and says when the task pays by itself", async () => {
    const checks = [sizeCheck, externalCheck(key.id, { hidden: true })];
    const { task, bid } = await awardedWithChecks(buyer, bidder, { checks, acceptOnChecks: { afterMinutes: 45 } });
    const delivery = await deliverJudged(service.services, bidder, bid.id);
    const [ada, bo] = [await enter("Ada", buyer), await enter("Bo", bidder)];
    await ada.open(`/tasks/${task.id}`);
    await bo.open(`/tasks/${task.id}`);
    await ada.sees("Waits for the buyer’s program");
    await bo.sees("1 of 2 checks passed");
    const failed = { conclusion: "failed", summary: script, detailsUrl: "https://ci.example.com/runs/7" };
    await report(service, key, delivery.id, failed);
    await ada.sees("Failed");
    await ada.page.getByText(script, { exact: true }).waitFor();
    expect(await ada.link(/^The whole report at/).getAttribute("href")).toBe("https://ci.example.com/runs/7");
    expect(await ada.link(/^The whole report at/).getAttribute("rel")).toContain("noreferrer");
    await bo.sees("The reasons are hidden until the task has ended.");
    expect(await bo.page.getByText(script).count()).toBe(0);
    await ada.isAccessible();
    await report(service, key, delivery.id, { conclusion: "passed" });
    await ada.sees("The checks have passed: look at the delivery now");
    await bo.sees("is yours by itself in");
  });

  test("the buyer names another key for a check whose key has ended, and it can report", async () => {
    const first = await reportingKey(service, buyer, { label: "old verifier" });
    const checks = [externalCheck(first.id)];
    const { task, bid } = await awardedWithChecks(buyer, bidder, { checks });
    const delivery = await deliverJudged(service.services, bidder, bid.id);
    const ada = await enter("Ada", buyer);
    await ada.open(`/tasks/${task.id}`);
    await ada.sees("Waits for the buyer’s program");
    expect(await ada.button("Name another key").count()).toBe(0);
    await buyer.delete(`/keys/${first.id}`);
    await ada.page.reload();
    await ada.sees("Could not be judged");
    await ada.button("Name another key").click();
    await ada.isAccessible();
    await ada.confirm("Use this key");
    await ada.button("Name another key").waitFor({ state: "detached" });
    expect((await report(service, key, delivery.id)).status).toBe(200);
    await ada.sees("The check has passed");
  });

  test("in a dispute the checks stand first, for a moderator and both sides; names and summaries are only text", async () => {
    const checks = [
      { ...sizeCheck, name: "<img src=x onerror=document.title=9>", maxBytes: 3 },
      externalCheck(key.id, { name: script.slice(0, 30) }),
    ];
    const { task, bid } = await awardedWithChecks(buyer, bidder, { checks });
    const delivery = await deliverJudged(service.services, bidder, bid.id);
    await report(service, key, delivery.id, { name: script.slice(0, 30), conclusion: "error", summary: script });
    const { dispute } = (await buyer.post(`/tasks/${task.id}/dispute`, { reason: disputeReason })).body;
    const moderator = await createModerator(service);
    for (const [name, person, path] of [
      ["Mo", moderator, `/moderation/disputes/${dispute.id}`],
      ["Bo", bidder, `/disputes/${dispute.id}`],
    ] as const) {
      const visitor = await enter(name, person);
      await visitor.open(path);
      await visitor.sees("0 of 2 checks passed");
      expect(await visitor.page.locator("main section h2").first().innerText()).toBe("What the checks say");
      expect(await listed(visitor, "What the checks say").allInnerTexts()).toEqual([
        expect.stringContaining("Failed"),
        expect.stringMatching(/Could not be judged[\s\S]*img src=x/),
      ]);
      expect(await visitor.page.title()).toMatch(/Rebid$/);
      expect(await visitor.page.locator("img[src=x]").count()).toBe(0);
      await visitor.isAccessible();
      await visitor.page.setViewportSize({ width: 375, height: 800 });
      await visitor.fits();
    }
  });
});
