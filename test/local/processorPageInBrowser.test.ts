import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, sharedBrowser } from "../setup/browser.ts";
import { type Harness, payableAccount, payout, startHarness, topup, transfer } from "./processorHarness.ts";

describe.skipIf(!hasBrowser)("the start page of the embedded processor, in a real browser without scripts", () => {
  let browser: Browser;
  let harness: Harness;
  beforeAll(async () => {
    // Nothing happens automatically, so that a button is still valid when it is pressed.
    harness = await startHarness({ stepMs: 600_000 });
    browser = await sharedBrowser();
  });
  afterAll(() => harness?.stop());

  test.each([1_100, 390])("its buttons work, and it fits a width of %i pixels", async (width) => {
    const accountId = await payableAccount(harness);
    await harness.gateway.createTransfer(transfer(accountId));
    const { id: payoutId } = await harness.gateway.createPayout(payout(accountId));
    const session = await harness.gateway.createCheckoutSession(topup());
    const page = await browser.newPage({ javaScriptEnabled: false, viewport: { width, height: 900 } });
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(`${harness.url}/`) && !request.url().startsWith("data:"))
        foreign.push(request.url());
    });
    await page.goto(harness.url);

    const fault = page.locator("#rate_limit");
    await fault.getByLabel("Next").fill("3");
    await fault.getByRole("button", { name: "Set" }).click();
    await page.getByRole("status").getByText("POST /test/faults").waitFor();
    expect(await fault.getByLabel("Next").inputValue()).toBe("3");
    await page.getByRole("button", { name: "Turn off all faults" }).click();
    await page.getByRole("status").getByText("DELETE /test/faults").waitFor();
    expect(await fault.getByLabel("Next").inputValue()).toBe("");

    await page.locator(`#${payoutId}`).getByRole("button", { name: "Fail" }).click();
    await page.locator(`#${payoutId}`).getByText("failed").waitFor();
    expect(new URL(page.url()).hash).toBe(`#${payoutId}`);

    await page.locator(`#${session.id}`).getByLabel("outcome").selectOption("declined");
    await page.locator(`#${session.id}`).getByRole("button", { name: "Pay" }).click();
    await page.locator("#charges + table").getByText("failed").first().waitFor();

    // Another tab was faster: the page shows an outdated state.
    await harness.test("POST", `checkout/${session.id}/pay`);
    await page.locator(`#${session.id}`).getByRole("button", { name: "Pay" }).click();
    await page.getByRole("alert").getByText("This session is complete.").waitFor();

    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    expect(foreign).toEqual([]);
    await page.close();
  });
});
