import { expect, test } from "vitest";
import { canonicalEmail } from "../../server/schemas/user.ts";
import { sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { expectError, issuePaths } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const password = "correct horse battery";

const signup = (email: string, changes: object = {}) =>
  rest(service.url, "POST", "/auth/signup", { body: { email, password, displayName: "Ada", ...changes } });
const login = (email: string, secret = password) =>
  rest(service.url, "POST", "/auth/login", { body: { email, password: secret } });

test.each([
  ["case", "Ada.Case@Example.COM", "ada.case@example.com"],
  ["white space around it", "  ada.space@example.com\n", "ada.space@example.com"],
  ["compatibility forms (NFKC)", "ａｄａ.wide＠example.com", "ada.wide@example.com"],
  ["composed and decomposed letters", "ade\u0301.nfc@example.com", "ad\u00e9.nfc@example.com"],
  ["a domain in its own script", "ada@BÜCHER.example", "ada@xn--bcher-kva.example"],
  ["an ideographic full stop", "ada@bücher。example。org", "ada@xn--bcher-kva.example.org"],
])("one address has one form, whatever its %s", async (_name, written, canonical) => {
  const answer = await signup(written);
  expect([answer.status, answer.body.user?.email]).toEqual([201, canonical]);
  expectError(await signup(canonical), "email_taken");
  expect((await login(written)).status).toBe(200);
  expect((await login(canonical)).status).toBe(200);
});

test.each([
  "",
  "@",
  "ada",
  "ada@",
  "@example.com",
  "ada@localhost",
  "ada@example..com",
  "ada@-example.com",
  "ada@127.0.0.1",
  "ada@[127.0.0.1]",
  "ada@example.com:80",
  "ada@example.com/x",
  "a b@example.com",
  ".ada@example.com",
  "ada.@example.com",
  "a..da@example.com",
  "ada@example.com, bob@example.com",
  "ada@evil.example@example.com",
  "ada@example.com\r\nBcc: bob@example.com",
  `${"a".repeat(65)}@example.com`,
  `ada@${"a".repeat(250)}.com`,
  "x".repeat(400),
])("what is no address is refused: %s", async (email) => {
  const answer = await signup(email);
  expectError(answer, "invalid_input");
  expect(issuePaths(answer.body)).toEqual(["email"]);
  expect(canonicalEmail(email)).toBeNull();
});

test("the canonical form is its own canonical form", () => {
  for (const email of ["Ada@Example.com", "ǅ@example.com", "İ@example.com", "ﬁ@bücher.example", "ẞ@straße.example"]) {
    const canonical = canonicalEmail(email);
    if (canonical !== null) expect(canonicalEmail(canonical)).toBe(canonical);
  }
});

test.each([
  ["password of 7", { password: "1234567" }, "password"],
  ["password of 129", { password: "x".repeat(129) }, "password"],
  ["empty display name", { displayName: " " }, "displayName"],
  ["display name of 81", { displayName: "x".repeat(81) }, "displayName"],
])("signing up with a %s is refused", async (_name, changes, field) => {
  const answer = await signup("bounds@example.com", changes);
  expectError(answer, "invalid_input");
  expect(issuePaths(answer.body)).toEqual([field]);
});

test("20 parallel signups with one address, in 20 spellings, make one account", async () => {
  const spellings = Array.from(
    { length: 20 },
    (_, index) => `${index % 2 ? "RACE" : "race"}@example.com${" ".repeat(index)}`,
  );
  const answers = await Promise.all(spellings.map((email) => signup(email)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  for (const answer of answers.filter(({ status }) => status !== 201)) expectError(answer, "email_taken");
  const rows = await service.services.database.query(sql`SELECT 1 FROM users WHERE email = 'race@example.com'`);
  expect(rows).toHaveLength(1);
  expect((await login("race@example.com")).status).toBe(200);
});

test("a wrong password, an unknown address, an invalid address and a suspended account get the same response", async () => {
  await signup("known@example.com");
  const suspended = await createPerson(service);
  await service.services.database.query(sql`
    UPDATE users SET suspended_at = now() WHERE id = ${suspended.id}::uuid`);
  const answers = [
    await login("known@example.com", "wrong horse battery"),
    await login("unknown@example.com"),
    await login("no address"),
    await login(suspended.email, suspended.password),
  ];
  for (const answer of answers) {
    expectError(answer, "invalid_credentials");
    expect({ ...answer.body, requestId: "" }).toEqual({ ...answers[0]?.body, requestId: "" });
    expect(answer.headers.get("set-cookie")).toBeNull();
  }
});

test("a password is stored as argon2id, and no response contains any of it", async () => {
  const answer = await signup("hash@example.com");
  expect(Object.keys(answer.body.user).sort()).toEqual(["createdAt", "displayName", "email", "id"]);
  expect(answer.text).not.toContain("argon2");
  const [row] = await service.services.database.query<{ hash: string }>(sql`
    SELECT password_hash AS hash FROM users WHERE email = 'hash@example.com'`);
  expect(row?.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
});
