import { beforeAll, describe, expect, test } from "vitest";
import { mp4File, pngFile, wavFile } from "../factories/files.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, uploadFile } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole } from "./visitor.ts";

const service = useService();
const pdf = Buffer.from("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n");

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;
  let taskId: string;

  beforeAll(async () => {
    buyer = await createPerson(service, { cents: 10_000 });
    bidder = await createPerson(service);
    const { bid } = await awardedTask(buyer, bidder);
    taskId = bid.taskId;
    const files = [
      { mimeType: "image/png", fileName: "a picture.png", bytes: pngFile(320, 200) },
      { mimeType: "audio/wav", fileName: "a sound.wav", bytes: wavFile(2) },
      {
        mimeType: "video/mp4",
        fileName: "a film.mp4",
        bytes: mp4File({ width: 64, height: 48, seconds: 2, mediaBytes: 9 }),
      },
      {
        mimeType: "text/html",
        fileName: "a page.html",
        bytes: Buffer.from("<h1>Hello</h1><script>document.title=1</script>"),
      },
      { mimeType: "application/pdf", fileName: "a document.pdf", bytes: pdf },
      { mimeType: "image/jpeg", fileName: "a pretender.jpg", bytes: pngFile(10, 10) },
    ];
    for (const file of files) await uploadFile(bidder, bid.id, "sample", file);
  });

  test("images, sound, film and text are shown in place, a PDF in a new tab, and nothing that pretends", async () => {
    const visitor = await console.arrive("Buyer");
    const { page } = visitor;
    await visitor.enterAs(buyer);
    await visitor.open(`/tasks/${taskId}`);
    const file = (name: string) => page.getByRole("article").filter({ has: page.getByRole("heading", { name }) });
    const shown = "img, audio, video, section, iframe, object, embed";

    const image = file("a picture.png").getByRole("img", { name: "a picture.png" });
    await image.scrollIntoViewIfNeeded();
    await expect.poll(() => image.evaluate((element) => Reflect.get(element, "naturalWidth"))).toBe(320);
    const sound = file("a sound.wav").locator("audio[controls]");
    await expect.poll(() => sound.evaluate((element) => Reflect.get(element, "duration"))).toBeCloseTo(2, 1);
    // Its index is right, but it has no picture that could be decoded.
    expect(await file("a film.mp4").locator("video[controls]").getAttribute("src")).toContain(
      service.services.storage.origin,
    );
    await file("a page.html").getByText("<h1>Hello</h1><script>document.title=1</script>").waitFor();

    expect(await file("a document.pdf").locator(shown).count()).toBe(0);
    // A browser without a viewer saves what the new tab would show.
    const address = new Promise<string>((resolve) => {
      page.context().once("page", (tab) => {
        tab.on("framenavigated", (frame) => frame.url().startsWith("blob:") && resolve(frame.url()));
        tab.on("download", (saved) => resolve(saved.url()));
      });
    });
    await file("a document.pdf").getByRole("button", { name: "Open in a new tab" }).click();
    expect(await address).toMatch(/^blob:/);

    await file("a pretender.jpg").getByText("It was declared as image/jpeg, but it is image/png.").waitFor();
    expect(await file("a pretender.jpg").locator(shown).count()).toBe(0);
    const download = page.waitForEvent("download");
    await file("a pretender.jpg").getByRole("link", { name: "Download a pretender.jpg" }).click();
    expect((await download).suggestedFilename()).toBe("a pretender.jpg");
  });

  test("a file is dropped, and what the service refuses of it is said in words", async () => {
    const visitor = await console.arrive("Bidder");
    const { page } = visitor;
    await visitor.enterAs(bidder);
    await visitor.open(`/tasks/${taskId}`);
    const drop = async (label: string, name: string, bytes: number) => {
      const script = `(() => { const files = new DataTransfer();
        files.items.add(new File(["x".repeat(${bytes})], ${JSON.stringify(name)}, { type: "text/plain" }));
        return files; })()`;
      const dataTransfer = await page.evaluateHandle(script);
      await page.getByText(label).dispatchEvent("drop", { dataTransfer });
    };
    await drop("Choose a sample, or drop it here", "long.txt", 1_048_577);
    await visitor.button("Upload the sample").click();
    await visitor.sees(/^The file has 1\.05 MB, and may have at most 1(\.05)? MB\./);
    await visitor.button("Choose another file").click();
    await drop("Choose the delivery, or drop it here", "final.txt", 12);
    await visitor.sees("final.txt");
    await visitor.button("Deliver this file").click();
    await visitor.sees("The buyer looks at your delivery");
    await page.getByText("xxxxxxxxxxxx", { exact: true }).waitFor();
  });
});
