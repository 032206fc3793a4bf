import { Refusal } from "../model/refusal.ts";
import type { World } from "../model/world.ts";
import { testCalls } from "./calls.ts";
import type { TestCall } from "./testCall.ts";

/** Handles a request to the test API, whose body is JSON. Returns the response's JSON value. */
export function handleTestCall(world: World, method: string, path: string, body: Buffer): unknown {
  return runTestCall(world, `${method} ${path}`, parseBody(body));
}

/** Runs a call by its method and path, such as `POST /test/payouts/po_1/fail`. */
export function runTestCall(world: World, request: string, body: unknown): unknown {
  const found = findTestCall(request);
  if (found === null) throw new Refusal(404, { message: `Unknown call: ${request}. GET /test lists the calls.` });
  return found.call.run(world, found.id, body);
}

/** Finds the call for a method and a path, and the id in the path. */
export function findTestCall(request: string): { call: TestCall; id: string } | null {
  const [, , , id = ""] = request.split("/");
  const call = testCalls.find(({ method, path }) => `${method} ${path.replace(":id", () => id)}` === request);
  return call === undefined ? null : { call, id };
}

function parseBody(body: Buffer): unknown {
  try {
    return body.length === 0 ? {} : JSON.parse(body.toString("utf8"));
  } catch {
    throw new Refusal(400, { message: "The body is not valid JSON." });
  }
}
