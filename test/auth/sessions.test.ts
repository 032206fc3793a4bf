import { expect, test } from "vitest";
import { SESSION_LIFETIME_SECONDS } from "../../server/auth/sessions.ts";
import { sql } from "../../server/db/connection.ts";
import { createPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

async function countSessions(userId: string): Promise<number> {
  const rows = await service.services.database.query(sql`SELECT 1 FROM sessions WHERE user_id = ${userId}::uuid`);
  return rows.length;
}

test("a login forgets the sessions that are over, and no other", async () => {
  const { id, email, password } = await createPerson(service);
  const logIn = () => rest(service.url, "POST", "/auth/login", { body: { email, password } });
  expect((await logIn()).status).toBe(200);
  expect(await countSessions(id)).toBe(2);
  service.clock.advance(SESSION_LIFETIME_SECONDS + 1);
  expect((await logIn()).status).toBe(200);
  expect(await countSessions(id)).toBe(1);
});

test("a sign-up that cannot start a session leaves no account behind, so that it can be repeated", async () => {
  const { database } = service.services;
  const signUp = () =>
    rest(service.url, "POST", "/auth/signup", {
      body: { email: "half@example.com", password: "a long password", displayName: "Half" },
    });
  await database.query(
    sql`ALTER TABLE sessions ADD CONSTRAINT no_new_ones CHECK (expires_at < '2000-01-01') NOT VALID`,
  );
  expect((await signUp()).status).toBe(500);
  await database.query(sql`ALTER TABLE sessions DROP CONSTRAINT no_new_ones`);
  const [logged] = service.errors.splice(0);
  expect(logged).toContain("no_new_ones");

  expect((await signUp()).status).toBe(201);
});
