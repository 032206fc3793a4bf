/** The core in a browser: reads, writes, uploads and follows, and shows how it went. */
import { Rebid, UnauthorizedError, webhooks } from "@rebid/sdk";

async function work({ baseUrl, bidderKey, buyerKey }) {
  const anonymous = new Rebid({ baseUrl });
  const bidder = new Rebid({ baseUrl, apiKey: bidderKey });
  const buyer = new Rebid({ baseUrl, apiKey: buyerKey });
  const refusal = await anonymous.wallet.read().catch((error) => error);
  if (!(refusal instanceof UnauthorizedError)) throw refusal;
  const { task } = await buyer.tasks.create({ title: "In a page", description: "Text.", maxBudgetCents: 9, tags: [] });
  const { bid } = await bidder.bids.place({ id: task.id, priceCents: 9, etaHours: 1 });
  await buyer.tasks.award({ id: task.id, bidId: bid.id, expectedPriceCents: 9 });
  const stream = new Blob(["from ", "a stream"]).stream();
  await bidder.bids.uploadSample(bid.id, { bytes: 13, stream }, { mimeType: "text/plain" });
  const file = new File(["hello"], "hello.txt", { type: "text/plain" });
  const { delivery } = await bidder.bids.uploadDelivery(bid.id, file);
  for await (const event of buyer.events.follow({ types: ["delivery.posted"] })) {
    if (event.data.task.id === task.id) break;
  }
  await webhooks.verify("{}", await webhooks.sign("{}", "whsec_x"), "whsec_x");
  return `done: ${delivery.fileName}, ${delivery.bytes} bytes`;
}

window.work = work;
