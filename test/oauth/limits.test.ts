import { expect, test } from "vitest";
import { useService } from "../setup/testService.ts";
import { postForm } from "./flow.ts";

const service = useService({ limiter: {} });

test("an address has 60 requests a minute for tokens and devices together, whoever it says it is", async () => {
  const ask = (index: number) =>
    postForm(service.url, index % 2 === 0 ? "/oauth/token" : "/oauth/device", { client_id: `client-${index}` });
  const answers = await Promise.all(Array.from({ length: 70 }, (_, index) => ask(index)));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(10);
  expect(refused[0]?.body).toMatchObject({ error: "rate_limited" });
  expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(refused[0]?.headers.get("ratelimit")).toMatch(/^"tokens";r=0/);
});
