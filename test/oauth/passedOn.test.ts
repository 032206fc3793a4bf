import { expect, onTestFinished, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { startReceiver } from "../webhooks/receiver.ts";
import { app, clientsFile } from "./clientsFile.ts";
import { Browser, bearer, connectApp } from "./flow.ts";

const service = useService({
  worker: true,
  settings: { oauthClientsFile: clientsFile([app]), webhookAllowInsecure: true },
});

test("a token is passed on to nobody: what a tool's call sends out does not contain it", async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.stop());
  const [buyer, bidder] = [await createPerson(service, { cents: 20_000 }), await createPerson(service)];
  await buyer.post("/webhooks", { url: `${receiver.url}/hook`, events: ["bid.received"] });
  const task = await postTask(buyer);
  const { accessToken } = await connectApp(new Browser(service.url, bidder.session), {
    ...{ clientId: app.client_id, redirectUri: "https://app.example/callback" },
    ...{ resource: `${service.url}/mcp`, scope: "bid:write" },
  });
  const answer = await fetch(`${service.url}/mcp`, {
    method: "POST",
    headers: { authorization: `${bearer(accessToken).authorization}`, "content-type": "application/json" },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name: "place_bid", arguments: { taskId: task.id, priceCents: 100, etaHours: 1 } },
    }),
  });
  expect(answer.status, await answer.text()).toBe(200);
  await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(1);
  const [{ headers, body } = { headers: {}, body: "" }] = receiver.received;
  expect(`${body}`).toContain(task.id);
  expect(JSON.stringify(headers) + body).not.toContain(accessToken.slice("rb_oat_".length));
  expect(headers).not.toHaveProperty("authorization");
});
