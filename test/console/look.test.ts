import { describe, expect, test } from "vitest";
import { buildSite } from "../../server/sites/build.ts";
import { docsSite } from "../../server/sites/sites.ts";
import { createPerson } from "../factories/people.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole } from "./visitor.ts";

const service = useService();

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);

  test("console, documentation, checkout and onboarding have one type face, which is loaded, and one paper", async () => {
    await buildSite(docsSite);
    const person = await createPerson(service);
    const { checkoutUrl } = (await person.post("/wallet/topup", { amountCents: 2_000 })).body;
    const { url } = (await person.post("/payouts/onboarding")).body;
    const visitor = await console.arrive("Visitor");
    const looks = [];
    for (const address of [`${service.url}/app`, `${service.url}/docs`, checkoutUrl, url]) {
      await visitor.page.goto(address);
      await visitor.page.locator("h1").waitFor();
      looks.push(
        await visitor.page.evaluate(`document.fonts.ready.then(() => {
          const face = (selector) => getComputedStyle(document.querySelector(selector)).fontFamily.split(",")[0];
          const loaded = [...document.fonts].filter(({ status }) => status === "loaded").map(({ family }) => family);
          const paper = [document.documentElement, document.body].map((element) => getComputedStyle(element).backgroundColor);
          return {
            face: [face("h1"), face("body")],
            isLoaded: loaded.some((family) => face("h1").includes(family.replaceAll('"', ""))),
            paper: paper.find((colour) => colour !== "rgba(0, 0, 0, 0)"),
          };
        })`),
      );
    }
    for (const look of looks) expect(look).toEqual(looks[0]);
    expect(looks[0]).toMatchObject({ isLoaded: true });
  });
});
