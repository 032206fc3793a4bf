import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole } from "./visitor.ts";

const service = useService();

const description = `# What is needed

Two **dishes** of \`menu.md\`, as in [the guide](https://example.com/guide):
second line

- soup
- [x] bread

| dish | price |
|------|-------|
| soup | 4     |

> Quoted & kept.

1. one
2. two

\`\`\`
<b>code</b>
\`\`\`
`;

/** Each of these tries to reach beyond its text. */
const hostile = `<script>document.title = 9</script>
<img src=x onerror=document.title=9>
![a picture](https://tracker.example/pixel.png)
![](javascript:alert(1))
[click](javascript:alert(1)) [data](data:text/html,hi) [file](file:///etc/passwd) [inside](/app/wallet)
[https://bank.example](https://evil.example/login)
https://bank.example@evil.example/
<javascript:alert(1)> <https://evil.example/?"onmouseover="document.title=9>
[ref]

[ref]: javascript:alert(1) "title"
<a href="javascript:alert(1)">tag</a> &lt;b&gt; <svg onload=document.title=9>
${">".repeat(300)} deep`;

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);

  const linksOf = (part: Locator) =>
    part
      .locator("a")
      .evaluateAll((links: { href: string; rel: string; target: string; textContent: string }[]) =>
        links.map(({ href, rel, target, textContent }) => ({ href, rel, target, text: textContent })),
      );

  test("Markdown in a brief has its looks, and links say where they lead", async () => {
    const task = await postTask(await createPerson(service, { cents: 20_000 }), { description });
    const visitor = await console.arrive("Visitor");
    await visitor.open(`/tasks/${task.id}`);
    await visitor.heading("Description").waitFor();
    const text = visitor.page.locator("section", { hasText: "Description" });
    await text.locator("blockquote").waitFor();
    for (const [selector, count] of [
      ["strong", 2],
      ["ul > li", 2],
      ["ol > li", 2],
      ["td", 2],
      ["blockquote", 1],
    ] as const)
      expect(await text.locator(selector).count(), selector).toBe(count);
    expect(await text.locator("pre").textContent()).toBe("<b>code</b>");
    await visitor.sees("the guide (example.com)");
    expect(await linksOf(text)).toEqual([
      {
        href: "https://example.com/guide",
        rel: "nofollow ugc noopener noreferrer",
        target: "_blank",
        text: "the guide",
      },
    ]);
    await visitor.isAccessible();
    await visitor.page.setViewportSize({ width: 320, height: 800 });
    await visitor.fits();
  });

  test("hostile Markdown stays text: no tag, no picture, no address but the web's, and no host that is hidden", async () => {
    const [buyer, bidder] = [await createPerson(service, { cents: 20_000 }), await createPerson(service)];
    const task = await postTask(buyer, { description: hostile });
    await placeBid(bidder, task.id, { notes: hostile });
    const ada = await console.arrive("Ada");
    const asked: string[] = [];
    ada.page.on("request", (request) => void asked.push(new URL(request.url()).hostname));
    await ada.enterAs(buyer);
    await ada.open(`/tasks/${task.id}`);
    await ada.heading("Bids").waitFor();
    const main = ada.page.locator("main");
    for (const part of [ada.page.locator("section", { hasText: "Description" }), main])
      await part.getByText("(tracker.example)").last().waitFor();
    expect(await main.locator("img, script, iframe, svg, [onerror], [onload], [onmouseover]").count()).toBe(0);
    expect(await ada.page.title()).toMatch(/Rebid$/);
    expect(asked.filter((host) => /example/.test(host))).toEqual([]);
    const links = (await linksOf(main)).filter(({ target }) => target === "_blank");
    expect(links.length).toBeGreaterThan(4);
    for (const { href, rel } of links) {
      expect(href).toMatch(/^https:\/\/(tracker|evil)\.example\//);
      expect(rel).toBe("nofollow ugc noopener noreferrer");
    }
    for (const text of [
      "https://bank.example (evil.example)",
      "a picture (tracker.example)",
      "[click](javascript:alert(1))",
    ])
      expect(await main.innerText()).toContain(text);
    await ada.fits();
  });

  test("a word without end is not kerned, which takes a browser seconds; honest texts are", async () => {
    const buyer = await createPerson(service, { cents: 40_000 });
    const visitor = await console.arrive("Visitor");
    for (const [text, kerning] of [
      ["xy".repeat(10_000), "none"],
      ["*a_".repeat(6_000), "none"],
      ["word ".repeat(4_000), "auto"],
    ] as const) {
      const task = await postTask(buyer, { description: text });
      await visitor.open(`/tasks/${task.id}`);
      await visitor.button("Show the whole text").click();
      await visitor.page.locator("main [dir=auto] p", { hasText: text.trim() }).waitFor();
      const shown = await visitor.page.evaluate(
        "getComputedStyle(document.querySelector('main [dir=auto] p')).fontKerning",
      );
      expect(shown, text.slice(0, 9)).toBe(kerning);
    }
  });
});
