import { expect, test } from "vitest";
import { createPerson } from "../../factories/people.ts";
import type { Answer } from "../../setup/client.ts";
import { expectError } from "../../setup/expectError.ts";
import { useService } from "../../setup/testService.ts";

const service = useService({ resolve: async () => ["93.184.215.14"] });

/** Sends the request 12 times at once, and asserts how many are accepted; the others say truly when to come back. */
async function expectAccepted(count: number, seconds: number, send: () => Promise<Answer>): Promise<Answer[]> {
  const answers = await Promise.all(Array.from({ length: 12 }, send));
  const accepted = answers.filter(({ status }) => status === 202);
  expect(accepted).toHaveLength(count);
  const refused = answers.filter(({ status }) => status !== 202);
  for (const answer of refused) expectError(answer, "rate_limited");
  const again = await send();
  const wait = Number(again.headers.get("retry-after"));
  expect([again.status, Number.isInteger(wait), wait > 0, wait <= seconds]).toEqual([429, true, true, true]);
  service.clock.advance(wait);
  expect((await send()).status).toBe(202);
  return accepted;
}

test("an endpoint is tested ten times a minute, its failed deliveries replayed once a minute, a delivery once in 10 seconds", async () => {
  const person = await createPerson(service);
  const register = () => person.post("/webhooks", { url: "https://public.example.com/hook", events: ["task.created"] });
  const { id } = (await register()).body;
  const [tested] = await expectAccepted(10, 60, () => person.post(`/webhooks/${id}/test`));
  const since = "2026-01-01T00:00:00Z";
  await expectAccepted(1, 60, () => person.post(`/webhooks/${id}/replay`, { since }));
  const deliveryId = tested?.body.delivery.id;
  await expectAccepted(1, 10, () => person.post(`/webhooks/deliveries/${deliveryId}/replay`));
  // Each endpoint counts on its own.
  expect((await person.post(`/webhooks/${(await register()).body.id}/test`)).status).toBe(202);
});
