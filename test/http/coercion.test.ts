import { expect, test } from "vitest";
import { rest } from "../setup/client.ts";
import { issuePaths } from "../setup/expectError.ts";
import { callOverRpc, type Input, routeOf } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

/** Values that a coercing schema would turn into 5, 1, 0 or 1. */
const pretenders = ["5", true, null, ["1"], false, "", "1e1", { valueOf: 1 }];

async function refusals(): Promise<void> {
  const calls = (value: unknown): [string, Input, string][] => [
    ["tasks.list", { limit: value }, "limit"],
    ["tasks.list", { minBudget: value }, "minBudget"],
  ];
  for (const [name, input, field] of pretenders.flatMap(calls)) {
    const { status, body } = await callOverRpc(service.url, routeOf(name), input);
    expect([JSON.stringify(input), status, issuePaths(body)]).toEqual([JSON.stringify(input), 400, [field]]);
  }
}

// In its own file, so that the first request of its service goes over RPC and the first over REST comes later.
test("a REST call with a query does not make typed RPC less strict", async () => {
  await refusals();
  const overRest = await rest(service.url, "GET", "/tasks?limit=5&minBudget=1");
  expect(overRest.status).toBe(200);
  await refusals();
  const typed = await callOverRpc(service.url, routeOf("tasks.list"), { limit: 5, minBudget: 1 });
  expect(typed.status).toBe(200);
});
