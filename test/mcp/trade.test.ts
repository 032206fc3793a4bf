import { describe, expect, test } from "vitest";
import { createPayee } from "../factories/payouts.ts";
import { createKey, createPerson } from "../factories/people.ts";
import { eventually } from "../setup/processorControl.ts";
import { useService } from "../setup/testService.ts";
import { connect, protocols } from "./client.ts";

const service = useService({ worker: true });

describe.each(protocols)("over protocol %s", (protocol) => {
  test("two agents take a task from posting to payout through no other door", async () => {
    const buyer = await createPerson(service, { cents: 20_000 });
    const bidder = await createPayee(service, { cents: 5_000 });
    const buyerKey = await createKey(service.url, buyer.session, ["task:write"]);
    const bidderKey = await createKey(service.url, bidder.session, ["task:write", "bid:write", "payouts:write"]);
    const ada = await connect(service.url, buyerKey, { protocol });
    const bo = await connect(service.url, bidderKey, { protocol });

    const posted = await ada.confirm("post_task", {
      title: `Translate a menu (${protocol})`,
      description: "Two dishes, in Markdown.",
      maxBudgetCents: 4_000,
      tags: ["translation"],
    });
    expect(posted.text).toContain("4,000 cents ($40.00) are held");
    const taskId = posted.data.task.id;

    const found = await bo.call("search_tasks", { query: `menu (${protocol})` });
    expect(found.data.tasks).toMatchObject([{ id: taskId, untrusted: { title: `Translate a menu (${protocol})` } }]);
    const read = await bo.call("get_task", { taskId });
    expect(read.data).toMatchObject({
      role: "visitor",
      nextTools: ["place_bid"],
      buyerReputation: { buyer: { tasksPosted: 1 } },
    });

    const events = await bo.call("wait_for_events", { after: "latest", wait: 0 });
    const bid = await bo.call("place_bid", { taskId, priceCents: 3_500, etaHours: 24, notes: "I cook." });
    const changed = await bo.call("place_bid", { taskId, priceCents: 3_000, etaHours: 12 });
    expect(changed.data).toMatchObject({ isChanged: true, bid: { id: bid.data.bid.id, priceCents: 3_000 } });
    const bidId = bid.data.bid.id;

    const bids = await ada.call("compare_bids", { taskId });
    expect(bids.data.bids).toMatchObject([{ id: bidId, priceCents: 3_000, untrusted: { notes: "I cook." } }]);
    const awarded = await ada.confirm("award_task", { taskId, bidId });
    expect(awarded.data).toMatchObject({ task: { status: "awarded" }, awardedBid: { id: bidId } });

    const news = await bo.call("wait_for_events", { after: events.data.nextCursor, types: ["task.awarded"], wait: 20 });
    expect(news.data.events).toMatchObject([{ type: "task.awarded", taskId, bidId, taskStatus: "awarded" }]);
    expect((await bo.call("get_task", { taskId })).data).toMatchObject({
      role: "bidder",
      nextTools: ["add_sample", "deliver", "give_back"],
    });
    const delivered = await bo.call("deliver", { bidId, text: "# Lounas\n\nLohikeitto\n", fileName: "menu.md" });
    expect(delivered.data.delivery).toMatchObject({ bytes: 21, untrusted: { fileName: "menu.md" } });

    const delivery = await ada.call("read_delivery", { taskId });
    expect(delivery.data.file.untrusted.content).toBe("# Lounas\n\nLohikeitto\n");
    const accepted = await ada.confirm("accept_delivery", { taskId });
    expect(accepted.data.task.status).toBe("accepted");
    expect((await ada.call("rate", { taskId, stars: 5, comment: "Exact." })).data.rating.role).toBe("bidder");
    expect((await bo.call("rate", { taskId, stars: 5 })).isError).toBe(false);
    expect((await bo.call("get_reputation", {})).data.bidder).toMatchObject({ tasksAccepted: 1, ratingAverage: 5 });

    expect((await bo.call("get_wallet")).data).toMatchObject({ availableCents: 8_000, heldCents: 0 });
    const { confirm } = (await bo.call("request_payout", { amountCents: 5_000 })).data.preview;
    const payout = await bo.call("request_payout", { amountCents: 5_000, confirm });
    expect(payout.data.status).toBe("pending");
    // By then, too little is left for another one: the repeat gets the first answer.
    expect((await bo.call("request_payout", { amountCents: 5_000, confirm })).data).toEqual(payout.data);
    const paid = await eventually(
      () => bo.call("get_wallet"),
      ({ data }) => data.payouts[0]?.status === "paid",
    );
    expect(paid.data.availableCents).toBe(3_000);
  });
});
