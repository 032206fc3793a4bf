import { beforeAll, describe, expect, test } from "vitest";
import { buildSite } from "../../server/sites/build.ts";
import { docsSite } from "../../server/sites/sites.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask, placeBid, postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole, type Visitor } from "./visitor.ts";

const service = useService();

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  let buyer: TestPerson;
  let bidder: TestPerson;
  const ids = { open: "", delivered: "" };

  beforeAll(async () => {
    await buildSite(docsSite);
    buyer = await createPerson(service, { cents: 100_000 });
    bidder = await createPerson(service);
    const open = await postTask(buyer, {
      description: "A **bold** brief.\n\n- with\n- a list\n\nand [a link](https://example.com).",
    });
    for (const cents of [1_000, 2_000, 3_000])
      await placeBid(cents === 1_000 ? bidder : await createPerson(service), open.id, {
        priceCents: cents,
        notes: "With `code`.",
      });
    const { task } = await deliveredTask(buyer, bidder);
    Object.assign(ids, { open: open.id, delivered: task.id });
  });

  /** What a browser with an empty cache receives until `last` is there: files and the service's answers, as compressed. */
  async function firstLoad(visitor: Visitor, path: string, last: string) {
    const session = await visitor.context.newCDPSession(visitor.page);
    await session.send("Network.enable");
    await session.send("Network.setCacheDisabled", { cacheDisabled: true });
    const requests = new Map<string, { address: string; headerBytes: number; bytes: number | null }>();
    session.on("Network.requestWillBeSent", ({ requestId, request }) => {
      requests.set(requestId, { address: request.url.replace(service.url, ""), headerBytes: 0, bytes: null });
    });
    session.on("Network.responseReceived", ({ requestId, response }) => {
      const request = requests.get(requestId);
      if (request) request.headerBytes = response.encodedDataLength;
    });
    session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      const request = requests.get(requestId);
      if (request) request.bytes = encodedDataLength - request.headerBytes;
    });
    await visitor.page.goto(service.url + path);
    await visitor.page.locator(last).first().waitFor();
    // The stream of events goes on for as long as the page.
    const all = () => [...requests.values()].filter(({ address }) => !address.startsWith("/trpc/events.stream"));
    const unanswered = () => all().flatMap(({ address, bytes }) => (bytes === null ? [address] : []));
    await expect.poll(unanswered).toEqual([]);
    await session.detach();
    const bytes = all().reduce((sum, request) => sum + (request.bytes ?? 0), 0);
    return { bytes, requests: requests.size, list: all() };
  }

  test.for([
    { page: "the first page", path: () => "/", as: "a visitor", last: "text=Post a task" },
    { page: "the documentation", path: () => "/docs", as: "a visitor", last: "h1" },
    { page: "an open task", path: () => `/app/tasks/${ids.open}`, as: "a visitor", last: "main strong" },
    { page: "an open task", path: () => `/app/tasks/${ids.open}`, as: "its buyer", last: "main strong" },
    { page: "a delivered task", path: () => `/app/tasks/${ids.delivered}`, as: "its buyer", last: "text=hello, world" },
    { page: "home", path: () => "/", as: "a buyer", last: "main li" },
    { page: "the wallet", path: () => "/app/wallet", as: "a buyer", last: "main li" },
  ])("$page is there for $as after less than 200 kB in at most 15 requests", async ({ path, as, last }) => {
    const visitor = await console.arrive("Visitor");
    if (as !== "a visitor") await visitor.enterAs(buyer);
    const { bytes, requests, list } = await firstLoad(visitor, path(), last);
    expect(bytes, JSON.stringify(list, null, 1)).toBeLessThan(200_000);
    expect(requests, JSON.stringify(list, null, 1)).toBeLessThanOrEqual(15);
  });
});
