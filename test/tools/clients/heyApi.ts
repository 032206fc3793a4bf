// The main job with the client that @hey-api/openapi-ts generates from the API document.
import { createClient, createConfig } from "./generated/client/index.js";
import * as rebid from "./generated/index.js";
import { assertEqual, baseUrl, cookieOf, mimeType, put, run, submit, text, until } from "./outside.js";

async function signUp(displayName: string) {
  const client = createClient(createConfig({ baseUrl }));
  const { response } = await rebid.authSignup({
    client,
    body: { email: `${displayName}-${run}@rebid.test`, password: "a long password", displayName },
    throwOnError: true,
  });
  return createClient(createConfig({ baseUrl, headers: cookieOf(response) }));
}

const ada = { client: await signUp("ada"), throwOnError: true } as const;
const bo = { client: await signUp("bo"), throwOnError: true } as const;

const topup = await rebid.walletTopup({ ...ada, body: { amountCents: 5_000 } });
await submit(`${topup.data.checkoutUrl}/pay`, "pays");
await until("a top-up", async () => ((await rebid.walletRead(ada)).data.availableCents === 5_000 ? true : undefined));

const input: rebid.CreateTask = {
  title: "Translate a menu",
  description: "Two dishes.",
  maxBudgetCents: 4_000,
  tags: [`menu ${run}`],
};
const created = await rebid.tasksCreate({ ...ada, headers: { "Idempotency-Key": run }, body: input });
const { id } = created.data.task;
const found = await rebid.tasksList({ ...ada, query: { status: ["open", "awarded"], tag: `menu ${run}` } });
assertEqual(
  found.data.tasks.map((task) => task.id),
  [id],
);

const key = await rebid.keysCreate({ ...bo, body: { label: "my agent", scopes: ["bid:write", "payouts:write"] } });
// A function, so that the key is sent as a bearer only: a plain text would be the session's cookie, too.
const auth = (scheme: { scheme?: string }) => (scheme.scheme === "bearer" ? key.data.raw : undefined);
const agent = { client: createClient(createConfig({ baseUrl, auth })), throwOnError: true } as const;
const { data: placed } = await rebid.bidsPlace({ ...agent, path: { id }, body: { priceCents: 3_000, etaHours: 24 } });
const path = { id: placed.bid.id };
const refused = await rebid.tasksAward({
  client: ada.client,
  path: { id },
  body: { bidId: placed.bid.id, expectedPriceCents: 2_000 },
});
assertEqual([refused.error?.error, refused.error?.priceCents], ["bid_changed", 3_000]);
const awarded = await rebid.tasksAward({
  ...ada,
  path: { id },
  body: { bidId: placed.bid.id, expectedPriceCents: 3_000 },
});
assertEqual(awarded.data.task.status, "awarded");

const body = { mimeType, bytes: new TextEncoder().encode(text).length };
const { data: sample } = await rebid.bidsSampleInit({ ...agent, path, body });
await put(sample.uploadUrl, text, mimeType);
await rebid.bidsSampleFinalize({ ...agent, path, body: { storageKey: sample.storageKey } });
const { data: delivery } = await rebid.bidsDeliveryInit({ ...agent, path, body });
await put(delivery.uploadUrl, text, mimeType);
await rebid.bidsDeliveryFinalize({ ...agent, path, body: { storageKey: delivery.storageKey } });

const detail = await rebid.tasksRead({ ...ada, path: { id } });
assertEqual(await (await fetch(detail.data.deliveries?.[0]?.downloadUrl ?? "")).text(), text);
assertEqual((await rebid.tasksAccept({ ...ada, path: { id } })).data.task.status, "accepted");
await rebid.tasksRate({ ...ada, path: { id }, body: { stars: 5, comment: "Fast and exact." } });
await rebid.tasksRate({ ...bo, path: { id }, body: { stars: 5 } });
const ledger = await rebid.walletLedger(bo);
assertEqual(
  ledger.data.entries.map(({ kind, amountCents }) => [kind, Number(amountCents)]),
  [["task_earning", 3_000]],
);

const onboarding = await rebid.payoutsOnboarding(bo);
await submit(onboarding.data.url, "finishes");
await rebid.payoutsCreate({ ...agent, body: { amountCents: 3_000 } });
await until("a payout", async () =>
  (await rebid.payoutsList(agent)).data.payouts[0]?.status === "paid" ? true : undefined,
);
