import { beforeAll, describe, expect, test } from "vitest";
import { sendAccountMail } from "../../server/auth/accountMails.ts";
import { sql } from "../../server/store/connection.ts";
import { cookieOf, createKey, createPerson, type TestPerson } from "../factories/people.ts";
import { type Answer, type Credentials, rest } from "../setup/client.ts";
import { operatorSettings, runScript } from "../setup/commandProcess.ts";
import { expectError, issuePaths } from "../setup/expectError.ts";
import { listMails, mailsTo, tokenIn, tokenOf } from "../setup/mails.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ worker: true, mailbox: true });
const HOUR_SECONDS = 3_600;
const newPassword = "an entirely new password";

const post = (path: string, body: object) => rest(service.url, "POST", path, { body });
const forgot = (email: string) => post("/auth/password/forgot", { email });
const reset = (token: string, password = newPassword) => post("/auth/password/reset", { token, newPassword: password });
const verify = (token: string) => post("/auth/email/verify", { token });
const login = (email: string, password: string) => post("/auth/login", { email, password });
const me = (person: TestPerson, credentials = person.session) => rest(service.url, "GET", "/auth/me", { credentials });

/** A person, and the token of a mail to choose a new password. */
async function forgetful(): Promise<{ person: TestPerson; token: string }> {
  const person = await createPerson(service);
  expect((await forgot(person.email)).status).toBe(202);
  const [mail] = await mailsTo(service, person.email);
  return { person, token: tokenIn(mail) };
}

const verifiedAt = async (person: TestPerson, credentials = person.session): Promise<string | null> =>
  (await me(person, credentials)).body.user.emailVerifiedAt;

describe("a forgotten password", () => {
  test("is replaced with the token of a mail, once; all sessions end, and the address is verified", async () => {
    const { person, token } = await forgetful();
    const [mail] = await mailsTo(service, person.email);
    expect(mail).toMatchObject({ from: "Rebid <rebid@example.com>", to: [person.email] });
    expect(mail?.links).toEqual([`${service.url}/app/reset-password#token=${token}`]);
    expect(mail?.html).toContain(`href="${service.url}/app/reset-password#token=${token}"`);

    const answer = await reset(token);
    expect([answer.status, answer.text, answer.headers.get("set-cookie")]).toEqual([204, "", null]);
    expectError(await me(person), "unauthenticated");
    expectError(await login(person.email, person.password), "invalid_credentials");
    const again = await login(person.email, newPassword);
    expect([again.status, again.body.user.emailVerifiedAt]).toEqual([200, expect.stringMatching(/\.\d{6}Z$/)]);
    expectError(await reset(token), "invalid_token");
  });

  test("has one winner among 50 parallel uses of its token", async () => {
    const { person, token } = await forgetful();
    const passwords = Array.from({ length: 50 }, (_, index) => `parallel password ${index}`);
    const answers = await Promise.all(passwords.map((password) => reset(token, password)));
    const won = passwords.filter((_, index) => answers[index]?.status === 204);
    expect(won).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 204)) expectError(answer, "invalid_token");
    expect((await login(person.email, won[0] ?? "")).status).toBe(200);
  });

  test("has tokens that expire after an hour, and stop working when another was used or the password was changed", async () => {
    const { person, token: first } = await forgetful();
    await forgot(person.email);
    const [mail] = await mailsTo(service, person.email, 2);
    expect((await reset(tokenIn(mail))).status).toBe(204);
    expectError(await reset(first), "invalid_token");

    const late = await forgetful();
    service.clock.advance(HOUR_SECONDS + 1);
    expectError(await reset(late.token), "invalid_token");
    service.clock.advance(-HOUR_SECONDS - 1);

    const { person: changed, token } = await forgetful();
    const change = { currentPassword: changed.password, newPassword };
    expect((await changed.post("/auth/password", change)).status).toBe(204);
    expectError(await reset(token, "yet another password"), "invalid_token");
  });

  test("has tokens that are good for nothing else, and refuses what is no token", async () => {
    const { token } = await forgetful();
    expectError(await verify(token), "invalid_token");
    for (const other of ["x", `${token}A`, token.slice(1), "'; DROP TABLE users; --", "a".repeat(200)]) {
      expectError(await reset(other), "invalid_token");
    }
    const short = await reset(token, "short");
    expectError(short, "invalid_input");
    expect(issuePaths(short.body)).toEqual(["newPassword"]);
    expect((await reset(token)).status).toBe(204); // none of it used the token up
  });

  test("leaves a stranger no way in who signed up with the address, had it confirmed by its owner, and then made a key", async () => {
    const email = "owner@example.com";
    const signup = await post("/auth/signup", { email, password: "the stranger's own", displayName: "Owner" });
    const session = cookieOf(signup);
    const whoAmI = (credentials: Credentials) => rest(service.url, "GET", "/auth/me", { credentials });
    const [greeting] = await mailsTo(service, email);
    expect((await verify(tokenIn(greeting))).status).toBe(204); // the owner presses the button of the mail
    const key = await createKey(service.url, session);
    expect((await whoAmI(key)).status).toBe(200);
    const { keys } = (await rest(service.url, "GET", "/keys", { credentials: session })).body;

    await forgot(email);
    const [mail] = await mailsTo(service, email, 2);
    expect(mail?.text).toContain("revokes all API keys");
    expect((await reset(tokenIn(mail))).status).toBe(204);
    for (const credentials of [session, key]) expectError(await whoAmI(credentials), "unauthenticated");
    expect(service.securityEntries.findLast(({ action }) => action === "password.reset")).toMatchObject({
      userId: signup.body.user.id,
      revokedKeyIds: [keys[0].id],
    });
    const own = cookieOf(await login(email, newPassword));
    expect((await rest(service.url, "GET", "/keys", { credentials: own })).body.keys).toEqual([]);
  });

  test("gets the same response, and the same work, for an address without an account", async () => {
    const person = await createPerson(service);
    const strip = ({ status, body, headers }: Answer) => ({ status, body, names: [...headers.keys()].sort() });
    await service.owner.pool.query(`CREATE TABLE added AS SELECT 1 AS n WHERE false;
      GRANT INSERT ON added TO PUBLIC;
      CREATE FUNCTION note_job() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO added VALUES (1); RETURN NULL; END';
      CREATE TRIGGER note_job AFTER INSERT ON graphile_worker._private_jobs FOR EACH ROW EXECUTE FUNCTION note_job()`);
    const known = await forgot(person.email);
    const unknown = await forgot("nobody-at-all@example.com");
    expect(strip(unknown)).toEqual(strip(known));
    const { rows } = await service.owner.pool.query("SELECT count(*)::int AS jobs FROM added");
    expect(rows).toEqual([{ jobs: 2 }]);
    await mailsTo(service, person.email);
    expect(await listMails(service, "nobody-at-all@example.com")).toEqual([]);
  });

  test("of a suspended user sends nothing, and strangers can make us send 5 mails an hour to one address", async () => {
    const [suspended, popular] = [await createPerson(service), await createPerson(service)];
    await service.services.database.query(sql`
      UPDATE users SET suspended_at = now() WHERE id = ${suspended.id}::uuid`);
    await forgot(suspended.email);
    for (let count = 0; count < 5; count++) {
      await forgot(popular.email);
      await mailsTo(service, popular.email, count + 1);
    }
    await forgot(popular.email);
    const { person } = await forgetful(); // its job was added after all of these
    expect(await listMails(service, person.email)).toHaveLength(1);
    expect(await listMails(service, popular.email)).toHaveLength(5);
    expect(await listMails(service, suspended.email)).toEqual([]);
  });
});

test("signing up mails a link that verifies the address, once; nothing waits for it", async () => {
  const email = "lovelace@example.com";
  const answer = await post("/auth/signup", {
    email,
    password: newPassword,
    displayName: "Evil <a href=x>\u202fLovelace",
  });
  expect([answer.status, answer.body.user.emailVerifiedAt]).toEqual([201, null]);
  const [cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
  const credentials = { cookie };
  const [mail] = await mailsTo(service, email);
  expect(`${mail?.subject} ${mail?.text} ${mail?.html}`).not.toContain("Lovelace"); // nothing in it is a user's
  const token = tokenIn(mail);
  expectError(await reset(token), "invalid_token");

  const results = await Promise.all(Array.from({ length: 50 }, () => verify(token)));
  expect(results.filter(({ status }) => status === 204)).toHaveLength(1);
  for (const failed of results.filter(({ status }) => status !== 204)) expectError(failed, "invalid_token");
  const { user } = (await rest(service.url, "GET", "/auth/me", { credentials })).body;
  expect(user.emailVerifiedAt).toMatch(/\.\d{6}Z$/);
  expect((await rest(service.url, "POST", "/auth/email/resend", { credentials })).status).toBe(202);
  await forgetful(); // its job was added after the other, which has nothing to send
  expect(await listMails(service, email)).toHaveLength(1);
});

test("the mail to verify an address is sent again on request, and its link works for a day", async () => {
  const person = await createPerson(service);
  expect(await verifiedAt(person)).toBeNull();
  expect((await person.post("/auth/email/resend")).status).toBe(202);
  expect((await person.post("/auth/email/resend")).status).toBe(202);
  const [second, first] = await mailsTo(service, person.email, 2);
  service.clock.advance(24 * HOUR_SECONDS + 1);
  expectError(await verify(tokenIn(first)), "invalid_token");
  service.clock.advance(-24 * HOUR_SECONDS - 1);
  expect((await verify(tokenIn(second))).status).toBe(204);
  expect(await verifiedAt(person)).toMatch(/Z$/);
});

test("neither a token nor a password is stored, in the tables or in the jobs", async () => {
  const { person, token } = await forgetful();
  const { rows } = await service.services.database.pool.query(`
    SELECT string_agg(t::text, '') AS content FROM (
      SELECT to_json(a)::text AS t FROM account_tokens a
      UNION ALL SELECT to_json(u)::text FROM users u
      UNION ALL SELECT to_json(j)::text FROM graphile_worker._private_jobs j) all_rows`);
  expect(rows[0].content).toContain(person.id);
  expect(rows[0].content).not.toContain(token);
  expect(rows[0].content).not.toContain(person.password);
});

test("a job that runs twice sends one mail, and one that failed sends its mail later, with another token", async () => {
  const person = await createPerson(service);
  const { services } = service;
  const payload = {
    mailId: crypto.randomUUID(),
    purpose: "reset_password" as const,
    email: person.email,
    requestedAt: service.clock.now().toISOString(),
  };
  const fine = async () => undefined;
  const failing = { send: () => Promise.reject(new Error("no connection")), verify: fine, close: fine };
  await expect(sendAccountMail({ ...services, mail: failing }, payload)).rejects.toThrow("no connection");
  await sendAccountMail(services, payload);
  await sendAccountMail(services, payload);
  const [mail] = await mailsTo(service, person.email);
  expect((await reset(tokenIn(mail))).status).toBe(204);

  const late = { ...payload, mailId: crypto.randomUUID(), requestedAt: "2020-01-01T00:00:00Z" };
  await sendAccountMail(services, late);
  expect(await listMails(service, person.email)).toHaveLength(1);
});

describe("npm run moderator -- reset-password", () => {
  let person: TestPerson;
  beforeAll(async () => {
    person = await createPerson(service);
  });
  const run = (email: string) => runScript("moderator", ["reset-password", email], operatorSettings(service));

  test("prints a link that works without a mail server, and does not verify the address", async () => {
    const { code, stdout } = await run(person.email.toUpperCase());
    expect(code).toBe(0);
    const token = tokenOf(stdout.split("\n")[0] ?? "");
    expect((await reset(token)).status).toBe(204);
    expect((await login(person.email, newPassword)).body.user.emailVerifiedAt).toBeNull();

    const unknown = await run("stranger@example.com");
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("stranger@example.com")]);
  });
});
