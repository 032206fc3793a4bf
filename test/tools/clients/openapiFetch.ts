// The main job with openapi-fetch, on the types that openapi-typescript generates from the API document.
import createClient from "openapi-fetch";
import { assertEqual, baseUrl, cookieOf, mimeType, put, run, submit, text, until } from "./outside.js";
import type { components, paths } from "./schema.js";

type TaskStatus = components["schemas"]["TaskStatus"];

/** Types cannot tell openapi-fetch how lists are written: comma-separated, as the document says. */
const settings = { baseUrl, querySerializer: { array: { style: "form", explode: false } } } as const;

/** Returns what a call has answered; throws its error, which has the type of the document's. */
async function ok<Data>(call: Promise<{ data?: Data; error?: components["schemas"]["ApiError"] }>): Promise<Data> {
  const { data, error } = await call;
  if (data === undefined) throw new Error(`${error?.error}: ${error?.message}`);
  return data;
}

async function signUp(displayName: string) {
  const anyone = createClient<paths>(settings);
  const email = `${displayName}-${run}@rebid.test`;
  const { response, error } = await anyone.POST("/auth/signup", {
    body: { email, password: "a long password", displayName },
  });
  if (error) throw new Error(error.message);
  return createClient<paths>({ ...settings, headers: cookieOf(response) });
}

const ada = await signUp("ada");
const bo = await signUp("bo");

const { checkoutUrl } = await ok(ada.POST("/wallet/topup", { body: { amountCents: 5_000 } }));
await submit(`${checkoutUrl}/pay`, "pays");
await until("a top-up", async () => ((await ok(ada.GET("/wallet"))).availableCents === 5_000 ? true : undefined));

const created = await ok(
  ada.POST("/tasks", {
    params: { header: { "Idempotency-Key": run } },
    body: { title: "Translate a menu", description: "Two dishes.", maxBudgetCents: 4_000, tags: [`menu ${run}`] },
  }),
);
const id = created.task.id;
const statuses: TaskStatus[] = ["open", "awarded"];
const found = await ok(ada.GET("/tasks", { params: { query: { status: statuses, tag: `menu ${run}` } } }));
assertEqual(
  found.tasks.map((task) => task.id),
  [id],
);

const key = await ok(bo.POST("/keys", { body: { label: "my agent", scopes: ["bid:write", "payouts:write"] } }));
const agent = createClient<paths>({ ...settings, headers: { authorization: `Bearer ${key.raw}` } });
const { bid } = await ok(
  agent.POST("/tasks/{id}/bids", { params: { path: { id } }, body: { priceCents: 3_000, etaHours: 24 } }),
);
const params = { path: { id: bid.id } };
const { data, error } = await ada.POST("/tasks/{id}/award", {
  params: { path: { id } },
  body: { bidId: bid.id, expectedPriceCents: 2_000 },
});
assertEqual([data, error?.error, error?.priceCents], [undefined, "bid_changed", 3_000]);
const award = { bidId: bid.id, expectedPriceCents: 3_000 };
assertEqual(
  (await ok(ada.POST("/tasks/{id}/award", { params: { path: { id } }, body: award }))).task.status,
  "awarded",
);

const file = { mimeType, bytes: new TextEncoder().encode(text).length };
const sample = await ok(agent.POST("/bids/{id}/sample/init", { params, body: file }));
await put(sample.uploadUrl, text, mimeType);
await ok(agent.POST("/bids/{id}/sample/finalize", { params, body: { storageKey: sample.storageKey } }));
const delivery = await ok(agent.POST("/bids/{id}/delivery/init", { params, body: file }));
await put(delivery.uploadUrl, text, mimeType);
await ok(agent.POST("/bids/{id}/delivery/finalize", { params, body: { storageKey: delivery.storageKey } }));

const detail = await ok(ada.GET("/tasks/{id}", { params: { path: { id } } }));
assertEqual(await (await fetch(detail.deliveries?.[0]?.downloadUrl ?? "")).text(), text);
const { task } = await ok(ada.POST("/tasks/{id}/accept", { params: { path: { id } } }));
assertEqual(task.status, "accepted");
await ok(ada.POST("/tasks/{id}/rate", { params: { path: { id } }, body: { stars: 5, comment: "Fast and exact." } }));
await ok(bo.POST("/tasks/{id}/rate", { params: { path: { id } }, body: { stars: 5 } }));
const { entries } = await ok(bo.GET("/wallet/ledger"));
assertEqual(
  entries.map(({ kind, amountCents }) => [kind, amountCents]),
  [["task_earning", 3_000]],
);

const { url } = await ok(bo.POST("/payouts/onboarding"));
await submit(url, "finishes");
await ok(agent.POST("/payouts", { body: { amountCents: 3_000 } }));
await until("a payout", async () =>
  (await ok(agent.GET("/payouts"))).payouts[0]?.status === "paid" ? true : undefined,
);
