import { expect, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { taskInput } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

/** One character, as a person counts, with random marks, so that it does not compress. */
const heap = `a${Array.from({ length: 6_000 }, () => String.fromCodePoint(0x300 + Math.floor(Math.random() * 0x6f))).join("")}`;
const family = "👨‍👩‍👧‍👦";

test("a character with thousands of combining marks is refused, and does not cause a 500 because it exceeds an index", async () => {
  const buyer = await createPerson(service, { cents: 100_000 });
  for (const changes of [{ tags: [heap] }, { title: `abc${heap}` }]) {
    const answer = await buyer.post("/tasks", taskInput(changes));
    expect(answer.status).toBe(400);
    expect(answer.body.error).toBe("invalid_input");
  }
  const body = { email: "heap@example.com", password: "a long password", displayName: heap };
  expect((await rest(service.url, "POST", "/auth/signup", { body })).status).toBe(400);
});

test("a character of many code points still counts as one", async () => {
  const buyer = await createPerson(service, { cents: 100_000 });
  const input = taskInput({ title: family.repeat(120), tags: [family.repeat(40)] });
  expect((await buyer.post("/tasks", input)).status).toBe(201);
});
