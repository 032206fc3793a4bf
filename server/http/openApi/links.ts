import type { Route } from "../routes.ts";
import { isObject, type JsonObject, type Operation } from "./json.ts";

/** What can follow an operation: with which of its values the next one is called. */
interface FollowUp {
  next: readonly string[];
  parameters: Record<string, string>;
  /** What the next one takes from the answer beside that. In words: generators for Java refuse a link with a body. */
  description?: string;
}

const id = (pointer: string) => ({ id: `$response.body#${pointer}` });
const sameId = { id: "$request.path.id" };
const finalize = { parameters: sameId, description: "With `storageKey` of this answer, once the bytes are sent." };

/** The course of a task and of what belongs to it, of a key and of a webhook endpoint. The names are those of the procedures. */
const followUps: Record<string, readonly FollowUp[]> = {
  "tasks.create": [
    { next: ["tasks.read", "tasks.update", "tasks.cancel"], parameters: id("/task/id") },
    { next: ["bids.place", "bids.listForTask", "tasks.ask", "questions.list"], parameters: id("/task/id") },
  ],
  "tasks.ask": [{ next: ["questions.answer", "questions.remove"], parameters: id("/question/id") }],
  "bids.place": [
    { next: ["bids.read", "bids.update", "bids.withdraw"], parameters: id("/bid/id") },
    { next: ["tasks.award"], parameters: sameId, description: "With `bid.id` of this answer as `bidId`." },
  ],
  "tasks.award": [
    { next: ["bids.sampleInit", "bids.deliveryInit", "bids.giveBack"], parameters: id("/awardedBid/id") },
    { next: ["agreements.propose"], parameters: sameId },
  ],
  "agreements.propose": [
    {
      next: ["agreements.accept", "agreements.decline", "agreements.withdraw"],
      parameters: id("/agreement/id"),
    },
  ],
  "bids.sampleInit": [{ next: ["bids.sampleFinalize"], ...finalize }],
  "bids.deliveryInit": [{ next: ["bids.deliveryFinalize"], ...finalize }],
  "bids.deliveryFinalize": [
    { next: ["tasks.accept", "tasks.requestChanges", "tasks.dispute"], parameters: id("/delivery/taskId") },
  ],
  "tasks.accept": [{ next: ["tasks.rate"], parameters: sameId }],
  "tasks.dispute": [{ next: ["disputes.read"], parameters: id("/dispute/id") }],
  "keys.create": [{ next: ["keys.revoke"], parameters: id("/id") }],
  "webhooks.create": [
    { next: ["webhooks.update", "webhooks.deliveries", "webhooks.test", "webhooks.remove"], parameters: id("/id") },
  ],
};

/** Declares the links of OpenAPI from an operation to those that follow it. */
export function addLinks(operation: Operation, { procedurePath, status }: Route): void {
  const success = operation.responses[String(status)];
  if (!isObject(success)) return;
  for (const { next, ...rest } of followUps[procedurePath] ?? []) {
    for (const name of next) {
      const operationId = name.replace(".", "_");
      const link: JsonObject = { operationId, ...rest };
      success.links = { ...(isObject(success.links) ? success.links : {}), [operationId]: link };
    }
  }
}
