import { readFile } from "node:fs/promises";
import { pino } from "pino";
import { beforeEach, expect, test } from "vitest";
import { createToken, type TokenPurpose } from "../../server/auth/accountTokens.ts";
import { openSecurityLog, securityActions } from "../../server/auth/securityLog.ts";
import { printResetLink } from "../../server/commands/moderator/resetPassword.ts";
import { setRole } from "../../server/commands/moderator/roles.ts";
import { reinstate } from "../../server/commands/moderator/users.ts";
import { sql } from "../../server/store/connection.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson } from "../factories/people.ts";
import { codeOf, signIn } from "../factories/secondFactors.ts";
import { deliveredTask } from "../factories/tasks.ts";
import { type Answer, type Credentials, rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const entries = () => service.securityEntries.map(({ level, time, ...entry }) => entry);
beforeEach(() => {
  service.services.securityLog.flush();
  service.securityEntries.length = 0;
});

const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
const by = (userId: unknown, via: string) => ({ event: "security", userId, via, address: "127.0.0.1" });

test("an account's life is recorded: who, from where, when, and in which request", async () => {
  const body = { email: "log@example.com", password: "a long password", displayName: "Log" };
  const signedUp = await rest(service.url, "POST", "/auth/signup", { body, headers: { "x-request-id": "the-first" } });
  const { id } = signedUp.body.user;
  await rest(service.url, "POST", "/auth/login", { body: { email: body.email, password: "not the one" } });
  await rest(service.url, "POST", "/auth/login", { body: { email: "nobody@example.com", password: "x" } });
  const login = await rest(service.url, "POST", "/auth/login", {
    body: { email: body.email, password: body.password },
  });
  const cookie = { cookie: login.headers.getSetCookie()[0]?.split(";")[0] ?? "" };
  const key = await rest(service.url, "POST", "/keys", {
    body: { label: "a label", scopes: ["task:write"] },
    credentials: cookie,
  });
  await rest(service.url, "POST", "/bids/00000000-0000-7000-8000-000000000000/withdraw", {
    credentials: { authorization: `Bearer ${key.body.raw}` },
  });
  await rest(service.url, "DELETE", `/keys/${key.body.id}`, { credentials: cookie });
  await rest(service.url, "POST", "/auth/logout", { credentials: cookie });
  await rest(service.url, "GET", "/wallet", { credentials: cookie });

  const requestId = expect.any(String);
  const denied = { action: "access.denied", requestId };
  expect(entries()).toEqual([
    { ...by(id, "anonymous"), action: "account.created", requestId: "the-first" },
    { ...by(id, "anonymous"), action: "login.failed", reason: "wrong password", requestId },
    { ...by(null, "anonymous"), action: "login.failed", reason: "unknown email", requestId },
    { ...by(id, "anonymous"), action: "login.succeeded", requestId },
    { ...by(id, "session"), action: "key.created", createdKeyId: key.body.id, scopes: ["task:write"], requestId },
    { ...by(id, "apiKey"), ...denied, keyId: key.body.id, code: "missing_scope", procedure: "bids.withdraw" },
    { ...by(id, "session"), action: "key.revoked", revokedKeyId: key.body.id, requestId },
    { ...by(id, "session"), action: "session.ended", requestId },
    { ...by(null, "anonymous"), ...denied, code: "unauthenticated", procedure: "wallet.read" },
  ]);
  for (const { time } of service.securityEntries) expect(Math.abs(Date.now() - Number(time))).toBeLessThan(60_000);
  const text = JSON.stringify(service.securityEntries);
  for (const secret of [body.password, "not the one", body.email, "nobody@", key.body.raw, cookie.cookie, "a label"])
    expect(text).not.toContain(secret);
});

test("roles and moderators' decisions are recorded, over the API and on the command line", async () => {
  const moderator = await createModerator(service);
  const [buyer, bidder] = [await createPerson(service, { cents: 10_000 }), await createPerson(service)];
  const { task } = await deliveredTask(buyer, bidder, {});
  const { body } = await buyer.post(`/tasks/${task.id}/dispute`, { reason: "It is empty." });
  const [user] = await service.services.database.query<{ email: string }>(
    sql`SELECT email FROM users WHERE id = ${bidder.id}::uuid`,
  );
  service.securityEntries.length = 0;

  const refused = await buyer.post(`/disputes/${body.dispute.id}/resolve`, { resolution: "refund" });
  expect(refused.status).toBe(403);
  await moderator.post(`/disputes/${body.dispute.id}/resolve`, { resolution: "refund" });
  await moderator.post(`/disputes/${body.dispute.id}/resolve`, { resolution: "refund" });
  for (const role of ["moderator", "moderator", "member"] as const)
    await setRole(service.services, user?.email ?? "", role);

  const operator = { event: "security", userId: null, via: "operator", address: "local", requestId: uuid };
  expect(entries()).toEqual([
    expect.objectContaining({ ...by(buyer.id, "session"), action: "access.denied", code: "forbidden" }),
    {
      ...by(moderator.id, "session"),
      action: "dispute.resolved",
      disputeId: body.dispute.id,
      resolution: "refund",
      requestId: uuid,
    },
    { ...operator, action: "role.granted", targetUserId: bidder.id },
    { ...operator, action: "role.revoked", targetUserId: bidder.id },
  ]);
});

test("what happens to accounts is recorded, without passwords, codes and tokens", async () => {
  const { database, clock } = service.services;
  const [person, moderator] = [await createPerson(service), await createModerator(service)];
  const { id: userId, email } = person;
  const [changed, chosen] = ["the second password", "the third password"];
  const tokens: string[] = [];
  const newToken = async (purpose: TokenPurpose) => {
    const token = await createToken(database, { id: crypto.randomUUID(), userId, purpose, now: clock.now() });
    tokens.push(token);
    return token;
  };
  const as = async (password: string, code?: string) => (await signIn(service, { ...person, password }, code)).session;
  const call = (credentials: Credentials, method: "POST" | "DELETE", path: string, body?: object) =>
    rest(service.url, method, path, { credentials, body });
  const done: number[] = [];
  const expectDone = ({ status }: Answer) => done.push(status);
  const own = { ...by(userId, "session"), requestId: uuid };
  const anonymous = { ...by(userId, "anonymous"), requestId: uuid };
  service.securityEntries.length = 0;

  expectDone(
    await call(person.session, "POST", "/auth/password", { currentPassword: person.password, newPassword: changed }),
  );
  const other = await as(changed);
  const { sessions } = (await rest(service.url, "GET", "/auth/sessions", { credentials: other })).body;
  const { id: ended } = sessions.find(({ current }: { current: boolean }) => !current);
  expectDone(await call(other, "DELETE", `/auth/sessions/${ended}`));
  expectDone(
    await rest(service.url, "POST", "/auth/email/verify", { body: { token: await newToken("verify_email") } }),
  );
  const factor = (await call(other, "POST", "/auth/totp", { password: changed })).body;
  const code = codeOf(service, factor.secret);
  const { recoveryCodes } = (await call(other, "POST", "/auth/totp/confirm", { code })).body;
  expectDone(await call(other, "DELETE", "/auth/totp", { password: changed, code: recoveryCodes[0] }));
  await printResetLink(service.services, email);
  const reset = { token: await newToken("reset_password"), newPassword: chosen };
  expectDone(await rest(service.url, "POST", "/auth/password/reset", { body: reset }));
  expectDone(await moderator.post(`/users/${userId}/suspend`, { reason: "spam and nothing else" }));
  await as(chosen);
  await reinstate(service.services, email, "a mistake of ours");
  expectDone(await call(await as(chosen), "DELETE", "/auth/me", { password: chosen }));

  expect(done).toEqual([204, 204, 204, 204, 204, 200, 204]);
  const operator = { event: "security", userId: null, via: "operator", address: "local", requestId: uuid };
  expect(entries()).toEqual([
    { ...own, action: "password.changed" },
    { ...anonymous, action: "login.succeeded" },
    { ...own, action: "session.ended", endedSessionId: ended },
    { ...anonymous, action: "email.verified" },
    { ...own, action: "secondFactor.added" },
    { ...own, action: "secondFactor.removed" },
    { ...operator, action: "password.linkPrinted", targetUserId: userId },
    { ...anonymous, action: "password.reset", revokedKeyIds: [expect.any(String)] },
    { ...by(moderator.id, "session"), requestId: uuid, action: "user.suspended", targetUserId: userId },
    { ...anonymous, action: "login.failed", reason: "suspended" },
    { ...operator, action: "user.reinstated", targetUserId: userId },
    { ...anonymous, action: "login.succeeded" },
    { ...own, action: "account.closed" },
  ]);
  const text = JSON.stringify(service.securityEntries);
  const secrets = [person.password, changed, chosen, email, factor.secret, code, ...recoveryCodes, ...tokens];
  for (const secret of [...secrets, "spam and", "a mistake"]) expect(text).not.toContain(secret);
});

test("a request of another site's page is recorded", async () => {
  const person = await createPerson(service);
  service.securityEntries.length = 0;
  await rest(service.url, "POST", "/keys", {
    body: {},
    credentials: { ...person.session, origin: "https://evil.example" },
  });
  expect(entries()).toEqual([
    { ...by(null, "anonymous"), action: "access.denied", code: "forbidden", reason: "cross-site", requestId: uuid },
  ]);
});

test("repeated refusals do not flood the log: ten lines a minute for each caller, and one with the count", async () => {
  await Promise.all(Array.from({ length: 25 }, () => rest(service.url, "GET", "/wallet")));
  expect(service.securityEntries).toHaveLength(10);
  service.services.securityLog.flush();
  expect(service.securityEntries).toHaveLength(11);
  expect(entries()[10]).toEqual({
    event: "security",
    ...{ action: "access.denied", userId: null, address: "127.0.0.1", suppressed: 15 },
  });
  service.services.securityLog.flush();
  expect(service.securityEntries).toHaveLength(11);
});

test("many callers do not flood it either", () => {
  const lines: Record<string, unknown>[] = [];
  const log = openSecurityLog(pino({}, { write: (line) => void lines.push(JSON.parse(line)) }));
  for (let index = 0; index < 5_000; index++) {
    const client = { address: `2001:db8:0:${index.toString(16)}::/64` };
    log.refuse({ principal: null, client, requestId: "r" }, "login.failed");
  }
  expect(lines).toHaveLength(1_000);
  log.flush();
  expect(lines).toHaveLength(1_001);
  expect(lines.at(-1)).toMatchObject({ event: "security", address: "many", suppressed: 4_000 });
});

test("the guide for operators lists every action", async () => {
  const [, guide = ""] = (await readFile("docs/guides/operating.md", "utf8")).split("## The security log\n");
  const listed = [...guide.matchAll(/^\| `([a-zA-Z]+\.[a-zA-Z]+)` \| (.+) \|$/gm)].map(([, action, text]) => [
    action,
    text,
  ]);
  expect(listed).toEqual(Object.entries(securityActions));
});
