/** The main job with the package as it is installed, loaded with `require` or with `import`. */
const { writeFileSync } = require("node:fs");

async function main() {
  const isModule = process.argv[2] === "import";
  const { Rebid, webhooks, ConflictError } = isModule ? await import("@rebid/sdk") : require("@rebid/sdk");
  const { fileFrom } = isModule ? await import("@rebid/sdk/node") : require("@rebid/sdk/node");
  const { REBID_URL: baseUrl, BUYER_KEY, BIDDER_KEY } = process.env;
  const buyer = new Rebid({ baseUrl, apiKey: BUYER_KEY });
  const bidder = new Rebid({ baseUrl, apiKey: BIDDER_KEY });

  const { nextCursor } = await buyer.events.list({ after: "latest" });
  const { task } = await buyer.tasks.create({ title: "A job", description: "A text.", maxBudgetCents: 500, tags: [] });
  const { bid } = await bidder.bids.place({ id: task.id, priceCents: 400, etaHours: 1 });
  for await (const event of buyer.events.follow({ types: ["bid.received"], after: nextCursor })) {
    if (event.data.bid.id === bid.id) break;
  }
  const again = await bidder.bids.place({ id: task.id, priceCents: 400, etaHours: 1 }).catch((error) => error);
  if (!(again instanceof ConflictError) || again.bidId !== bid.id) throw again;
  await buyer.tasks.award({ id: task.id, bidId: bid.id, expectedPriceCents: 400 });
  const delivered = buyer.tasks.waitFor(task.id, ["delivered"]);
  writeFileSync("delivery.md", "# Hei\n");
  await bidder.bids.uploadSample(bid.id, { bytes: 5, stream: new Blob(["hello"]).stream() });
  await bidder.bids.uploadDelivery(bid.id, await fileFrom("delivery.md"));
  if ((await delivered).status !== "delivered") throw new Error("not delivered");
  await buyer.tasks.accept({ id: task.id });

  const body = JSON.stringify({ id: "e", type: "task.created", createdAt: "", data: {} });
  const event = await webhooks.verify(body, await webhooks.sign(body, "whsec_x"), "whsec_x");
  if (event.type !== "task.created") throw new Error("not verified");
  console.log("done");
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
