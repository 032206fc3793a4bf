import getPort from "get-port";
import { afterAll, beforeAll, expect, test } from "vitest";
import { s3Storage } from "../../server/gateways/s3Storage.ts";
import { stripeProcessor } from "../../server/gateways/stripeProcessor.ts";
import { createApp } from "../../server/http/app.ts";
import { type HttpServer, serve } from "../../server/http/server.ts";
import { createPayee, requestPayout } from "../factories/payouts.ts";
import { createPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask, taskInput, upload } from "../factories/tasks.ts";
import { type Credentials, rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let server: HttpServer;
let url: string;

/** The same service with an object store and a payment processor that have stopped. */
beforeAll(async () => {
  const stopped = `http://127.0.0.1:${await getPort()}`;
  const keys = { bucket: "rebid", region: "us-east-1", accessKeyId: "test", secretAccessKey: "test-secret" };
  const storage = s3Storage({ endpoint: stopped, ...keys });
  const processor = stripeProcessor({ secretKey: "sk_test", webhookSecrets: ["whsec"], apiBase: stopped });
  const port = await getPort();
  server = await serve(
    createApp({ ...service.services, storage, processor }, { trustProxy: false }),
    port,
    "127.0.0.1",
  );
  url = `http://127.0.0.1:${port}`;
});
afterAll(() => server.stop());

const call = (method: string, path: string, { session }: { session: Credentials }, body?: unknown) =>
  rest(url, method, path, { credentials: session, body });

test("without the object store only the end of an upload fails; tasks with files are read, and uploads begin", async () => {
  const [buyer, bidder] = await Promise.all([createPerson(service, { cents: 50_000 }), createPerson(service)]);
  const { task } = await deliveredTask(buyer, bidder);
  const read = await call("GET", `/tasks/${task.id}`, buyer);
  expect(read.status).toBe(200);
  expect(read.body.deliveries[0].downloadUrl).toMatch(/^http/);

  const { bid } = await awardedTask(buyer, bidder);
  const init = await call("POST", `/bids/${bid.id}/sample/init`, bidder, { mimeType: "text/plain", bytes: 12 });
  expect(init.status).toBe(200);
  const storageKey = await upload(bidder, bid.id, "sample");
  const finalize = await call("POST", `/bids/${bid.id}/sample/finalize`, bidder, { storageKey });
  expectError(finalize, "unavailable");
  expect(finalize.headers.get("retry-after")).toBe("2");
  // Nothing was recorded, so the same call succeeds when the store is back.
  expect((await bidder.post(`/bids/${bid.id}/sample/finalize`, { storageKey })).status).toBe(201);
  expect(service.errors.splice(0)).toHaveLength(1);
});

test("without the payment processor only top-ups and the onboarding fail; payouts are taken and wait for it", async () => {
  const person = await createPayee(service);
  await requestPayout(person, 1_000); // from then on the account is known to be active
  expectError(await call("POST", "/wallet/topup", person, { amountCents: 500 }), "processor_unavailable");
  expectError(await call("POST", "/payouts/onboarding", person), "processor_unavailable");
  expect((await call("POST", "/payouts", person, { amountCents: 1_000 })).status).toBe(202);
  expect((await call("POST", "/tasks", person, taskInput())).status).toBe(201);
  expect((await call("GET", "/wallet", person)).body).toEqual({ availableCents: 38_000, heldCents: 10_000 });
  expect(service.errors.splice(0)).toHaveLength(2);
});
