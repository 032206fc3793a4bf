import { expect, onTestFinished, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { eventually, startReceiver } from "./receiver.ts";

// In a file of its own: on a busy machine, a receiver of the other tests may take that long.
const service = useService({ worker: true, settings: { webhookAllowInsecure: true, webhookTimeoutSeconds: 2 } });

test("a timeout is retried, and the attempt records the reason", async () => {
  const receiver = await startReceiver((_request, count) => (count === 1 ? "never" : 200));
  onTestFinished(() => receiver.stop());
  const person = await createPerson(service, { cents: 100_000 });
  const { id } = (await person.post("/webhooks", { url: receiver.url, events: ["task.created"] })).body;
  await postTask(person);
  const afterAttempts = (count: number) =>
    eventually(`attempt ${count}`, async () => {
      const [delivery] = (await person.get(`/webhooks/${id}/deliveries`)).body.deliveries;
      return delivery?.attempts.length === count && delivery;
    });
  expect(await afterAttempts(1)).toMatchObject({
    status: "pending",
    attempts: [{ statusCode: null, error: expect.stringMatching(/within 2 s/) }],
  });
  service.clock.advance(34);
  expect((await afterAttempts(2)).status).toBe("succeeded");
});
