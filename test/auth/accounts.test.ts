import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import argon2 from "@node-rs/argon2";
import { expect, onTestFinished, test } from "vitest";
import { loadCommonPasswords } from "../../server/auth/commonPasswords.ts";
import { ConfigError, readConfig } from "../../server/config.ts";
import { createApp } from "../../server/http/app.ts";
import { canonicalEmail } from "../../server/schemas/user.ts";
import { sql } from "../../server/store/connection.ts";
import { cookieOf, createPerson, type TestPerson } from "../factories/people.ts";
import { type Credentials, rest } from "../setup/client.ts";
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
  expect(Object.keys(answer.body.user).sort()).toEqual(
    ["createdAt", "displayName", "email", "emailVerifiedAt", "id", "timeZone"].sort(),
  );
  expect(answer.text).not.toContain("argon2");
  const [row] = await service.services.database.query<{ hash: string }>(sql`
    SELECT password_hash AS hash FROM users WHERE email = 'hash@example.com'`);
  expect(row?.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
});

const changePassword = (person: TestPerson, currentPassword: string, newPassword: string) =>
  person.post("/auth/password", { currentPassword, newPassword });

test("changing the password ends every other session, and needs the current one", async () => {
  const person = await createPerson(service);
  const { email } = person;
  const other = cookieOf(await login(email, person.password));
  const wrong = await changePassword(person, "a wrong password", "a better password");
  expectError(wrong, "invalid_credentials");
  const short = await changePassword(person, person.password, "short");
  expectError(short, "invalid_input");
  expect(issuePaths(short.body)).toEqual(["newPassword"]);
  const readMe = (credentials: Credentials) => rest(service.url, "GET", "/auth/me", { credentials });
  expect((await readMe(other)).status).toBe(200);

  const changed = await changePassword(person, person.password, "a better password");
  expect([changed.status, changed.text]).toEqual([204, ""]);
  expectError(await readMe(other), "unauthenticated");
  expect((await readMe(person.session)).status).toBe(200);
  expect((await readMe(person.key)).status).toBe(200);
  expectError(await login(email, person.password), "invalid_credentials");
  expect((await login(email, "a better password")).status).toBe(200);
  const withKey = { currentPassword: "a better password", newPassword: "another password" };
  expectError(
    await rest(service.url, "POST", "/auth/password", { body: withKey, credentials: person.key }),
    "forbidden",
  );
});

test("of parallel changes from the same password one wins, and no login with the old one survives them", async () => {
  const person = await createPerson(service);
  const passwords = Array.from({ length: 6 }, (_, index) => `parallel password ${index}`);
  const [logins, answers] = await Promise.all([
    Promise.all(passwords.map(() => login(person.email, person.password))),
    Promise.all(passwords.map((newPassword) => changePassword(person, person.password, newPassword))),
  ]);
  const won = passwords.filter((_, index) => answers[index]?.status === 204);
  expect(won).toHaveLength(1);
  expect((await login(person.email, won[0])).status).toBe(200);
  for (const answer of logins.filter(({ status }) => status === 200)) {
    expectError(await rest(service.url, "GET", "/auth/me", { credentials: cookieOf(answer) }), "unauthenticated");
  }
});

test("the display name can be changed, by the same rules as when signing up", async () => {
  const person = await createPerson(service);
  const { status, body } = await person.patch("/auth/me", { displayName: "  Countess 👩‍💻 " });
  expect([status, body.user.displayName]).toEqual([200, "Countess 👩‍💻"]);
  expect((await person.get("/auth/me")).body.user).toEqual(body.user);
  for (const input of [
    {},
    { displayName: " " },
    { displayName: "two\nlines" },
    { displayName: "x", email: "a@b.cc" },
  ]) {
    expectError(await person.patch("/auth/me", input), "invalid_input");
  }
  const byKey = await rest(service.url, "PATCH", "/auth/me", { body: { displayName: "Key" }, credentials: person.key });
  expectError(byKey, "forbidden");
});

test("a password is the same password composed and decomposed, and one that was stored as typed goes on working", async () => {
  const [composed, decomposed] = ["pässwörd ångström", "pässwörd ångström"].map((text, index) =>
    text.normalize(index === 0 ? "NFC" : "NFD"),
  ) as [string, string];
  expect(composed).not.toBe(decomposed);
  await signup("composed@example.com", { password: composed });
  await signup("decomposed@example.com", { password: decomposed });
  for (const email of ["composed@example.com", "decomposed@example.com"]) {
    for (const written of [composed, decomposed]) expect((await login(email, written)).status).toBe(200);
    expectError(await login(email, "passwörd ångström"), "invalid_credentials");
  }

  const hash = await argon2.hash(decomposed);
  await service.services.database.query(sql`
    INSERT INTO users (email, password_hash, display_name) VALUES ('typed@example.com', ${hash}, 'Typed')`);
  expect((await login("typed@example.com", decomposed)).status).toBe(200);
});

test("in production the commonest passwords are refused, elsewhere and with `off` none, and a file has its own", async () => {
  const directory = await mkdtemp(join(tmpdir(), "rebid-passwords-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, "list.txt");
  await writeFile(file, "Hunter22hunter\r\n\ncafe\u0301cafe\u0301\n");
  const own = loadCommonPasswords({ file });
  for (const common of ["hunter22HUNTER", "cafécafé"]) expect(own(common)).toBe(true);
  expect([own(""), own("password123")]).toEqual([false, false]);
  expect(() => loadCommonPasswords({ file: `${file}.missing` })).toThrow(ConfigError);
  expect(readConfig({}).passwordBlocklist).toBe("off");
  expect(readConfig({ PASSWORD_BLOCKLIST: file }).passwordBlocklist).toEqual({ file });

  const builtIn = loadCommonPasswords("builtIn");
  for (const common of ["password", "Password1", "12345678", "QWERTYUIOP", "iloveyou!", "aaaaaaaa"]) {
    expect(builtIn(common)).toBe(true);
  }
  for (const good of [password, "a long password", "correct horse"]) expect(builtIn(good)).toBe(false);

  const server = createServer(createApp({ ...service.services, isCommonPassword: builtIn }, { trustProxy: false }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const input = { email: "common@example.com", password: "Password123", displayName: "C" };
  const refused = await rest(url, "POST", "/auth/signup", { body: input });
  expectError(refused, "invalid_input");
  expect(issuePaths(refused.body)).toEqual(["password"]);
  const person = await createPerson(service);
  const body = { currentPassword: person.password, newPassword: "Password123" };
  const kept = await rest(url, "POST", "/auth/password", { body, credentials: person.session });
  expectError(kept, "invalid_input");
  expect(issuePaths(kept.body)).toEqual(["newPassword"]);
  expect((await rest(service.url, "POST", "/auth/signup", { body: input })).status).toBe(201);
});
