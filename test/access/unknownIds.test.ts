import { expect, test } from "vitest";
import { createModerator } from "../factories/moderators.ts";
import { createPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { callOverRest, routeOf } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const id = crypto.randomUUID();
const file = { mimeType: "text/plain", bytes: 1 };

test.each([
  ["tasks.requestChanges", { reason: "Page two is missing." }],
  ["tasks.declineChanges", { reason: "Page two was not agreed." }],
  ["tasks.ask", { text: "Which Finnish?" }],
  ["tasks.fileInit", file],
  ["tasks.fileFinalize", { storageKey: `briefs/${id}/${id}` }],
  ["agreements.propose", { kind: "cancel", reason: "We both want out of it." }],
  ["tasks.setCheckKey", { name: "Tests", keyId: id }],
  ["approvals.read", {}],
  ["approvals.approve", { seen: "x" }],
  ["approvals.decline", { reason: "No." }],
  ["notifications.unsubscribePush", {}],
  ["questions.remove", { reason: "It has an address." }],
] as const)("%s of what does not exist is 404", async (name, input) => {
  const person = name === "questions.remove" ? await createModerator(service) : await createPerson(service);
  const { status, body } = await callOverRest(service.url, routeOf(name), { id, ...input }, person.session);
  expectErrorBody(body, "not_found");
  expect(status).toBe(404);
});

test("files of messages count among a user's 20 open uploads", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 100_000 }), await createPerson(service)];
  const bid = await placeBid(bidder, (await postTask(buyer)).id);
  const init = () => callOverRest(service.url, routeOf("messages.fileInit"), { id: bid.id, ...file }, bidder.session);
  for (let count = 0; count < 20; count++) expect((await init()).status).toBe(200);
  expectErrorBody((await init()).body, "limit_reached");
});
