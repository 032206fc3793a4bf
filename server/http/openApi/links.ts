import type { Route } from "../routes.ts";
import { isObject, type JsonObject, type Operation } from "./json.ts";

/** What can follow an operation: with which of its values the next one is called. */
interface FollowUp {
  next: readonly string[];
  parameters: Record<string, string>;
  body?: Record<string, string>;
}

const createdTask = { id: "$response.body#/task/id" };
const sameTask = { id: "$request.path.id" };
const ofBid = { id: "$response.body#/bid/id" };

/** The course of a task, of a key and of a webhook endpoint. The names are those of the procedures. */
const followUps: Record<string, readonly FollowUp[]> = {
  "tasks.create": [
    { next: ["tasks.read", "tasks.update", "tasks.cancel"], parameters: createdTask },
    { next: ["bids.place", "bids.listForTask", "tasks.ask", "questions.list"], parameters: createdTask },
  ],
  "bids.place": [
    { next: ["bids.read", "bids.update", "bids.withdraw"], parameters: ofBid },
    { next: ["tasks.award"], parameters: sameTask, body: { bidId: "$response.body#/bid/id" } },
  ],
  "tasks.award": [{ next: ["bids.sampleInit", "bids.deliveryInit", "bids.giveBack"], parameters: ofBid }],
  "bids.sampleInit": [
    { next: ["bids.sampleFinalize"], parameters: sameTask, body: { storageKey: "$response.body#/storageKey" } },
  ],
  "bids.deliveryInit": [
    { next: ["bids.deliveryFinalize"], parameters: sameTask, body: { storageKey: "$response.body#/storageKey" } },
  ],
  "bids.deliveryFinalize": [
    { next: ["tasks.accept", "tasks.requestChanges", "tasks.dispute"], parameters: createdTask },
  ],
  "tasks.accept": [{ next: ["tasks.rate"], parameters: sameTask }],
  "keys.create": [{ next: ["keys.revoke"], parameters: { id: "$response.body#/id" } }],
  "webhooks.create": [
    {
      next: ["webhooks.update", "webhooks.deliveries", "webhooks.test", "webhooks.remove"],
      parameters: { id: "$response.body#/id" },
    },
  ],
};

/** Declares the links of OpenAPI from an operation to those that follow it. */
export function addLinks(operation: Operation, { procedurePath, status }: Route): void {
  const success = operation.responses[String(status)];
  if (!isObject(success)) return;
  for (const { next, parameters, body } of followUps[procedurePath] ?? []) {
    for (const name of next) {
      const link: JsonObject = { operationId: name.replace(".", "_"), parameters };
      if (body !== undefined) link.requestBody = body;
      success.links = { ...(isObject(success.links) ? success.links : {}), [name.replace(".", "_")]: link };
    }
  }
}
