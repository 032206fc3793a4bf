import { expect, test } from "vitest";
import { resealFactors } from "../../server/auth/secondFactor.ts";
import { decryptSecret, encryptSecret, generateTotp, stepOfCode } from "../../server/auth/totp.ts";
import { queryOne, sql } from "../../server/store/connection.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson } from "../factories/people.ts";
import { codeOf, setUpTotp, signIn } from "../factories/secondFactors.ts";
import { disputedTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { expectError, issuePaths } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const strict = useService({ settings: { moderatorTotp: true } });

test("the codes are those of RFC 6238, and belong to a step at most one away", () => {
  // Appendix B, the last six of the eight digits.
  const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
  const at = (seconds: number) => new Date(seconds * 1000);
  expect(stepOfCode(secret, "287082", at(59))).toBe(1);
  expect(stepOfCode(secret, "081804", at(1_111_111_109))).toBe(37_037_036);
  expect(stepOfCode(secret, "287082", at(89))).toBe(1);
  expect(stepOfCode(secret, "287082", at(90))).toBeNull();
  expect(stepOfCode(secret, "000000", at(59))).toBeNull();
});

test("a secret opens with any of the session secrets, for its own user only", async () => {
  const [older, newer] = ["an older secret with 32 characters.", "a newer secret with 32 characters.."];
  const { secret } = generateTotp("ada@example.com");
  const encrypted = await encryptSecret(secret, "ada", [older]);
  expect(encrypted).not.toContain(secret);
  expect(await decryptSecret(encrypted, "ada", [older])).toEqual({ secret, isCurrent: true });
  expect(await decryptSecret(encrypted, "ada", [newer, older])).toEqual({ secret, isCurrent: false });
  expect(await decryptSecret(encrypted, "ada", [newer])).toBeNull();
  expect(await decryptSecret(encrypted, "eve", [older])).toBeNull();
});

test("a rotated session secret can be retired although nobody has used their factor meanwhile", async () => {
  const person = await createPerson(service);
  const { secret } = await setUpTotp(service, person);
  const { settings, database } = service.services;
  const newest = "the newest secret of the tests, 32 characters";
  const encrypted = async () =>
    (
      await queryOne<{ encrypted: string }>(
        database,
        sql`SELECT sealed_secret AS encrypted FROM totp_factors WHERE user_id = ${person.id}::uuid`,
      )
    ).encrypted;
  await resealFactors({
    ...service.services,
    settings: { ...settings, sessionSecrets: [newest, ...settings.sessionSecrets] },
  });
  expect(await decryptSecret(await encrypted(), person.id, [newest])).toEqual({ secret, isCurrent: true });
  await resealFactors({
    ...service.services,
    settings: { ...settings, sessionSecrets: [...settings.sessionSecrets, newest] },
  });
  expect(await decryptSecret(await encrypted(), person.id, settings.sessionSecrets)).toEqual({
    secret,
    isCurrent: true,
  });
});

test("setting up needs the password and one right code; then a login needs a code, and nothing shows the secret again", async () => {
  const person = await createPerson(service);
  expectError(await person.post("/auth/totp", { password: "wrong" }), "invalid_credentials");
  expectError(await person.post("/auth/totp/confirm", { code: "123456" }), "not_found");
  const first = (await person.post("/auth/totp", { password: person.password })).body;
  const { secret, otpauthUrl } = (await person.post("/auth/totp", { password: person.password })).body;
  expect(secret).not.toBe(first.secret);
  expect(otpauthUrl).toMatch(
    new RegExp(`^otpauth://totp/Rebid:${encodeURIComponent(person.email)}\\?.*secret=${secret}`),
  );

  // Until it is confirmed, logins need no code.
  expect((await signIn(service, person)).answer.status).toBe(200);
  const wrong = await person.post("/auth/totp/confirm", { code: codeOf(service, first.secret) });
  expectError(wrong, "invalid_input");
  expect(issuePaths(wrong.body)).toEqual(["code"]);
  const other = (await signIn(service, person)).session;
  const confirmed = await person.post("/auth/totp/confirm", { code: codeOf(service, secret) });
  expect(confirmed.body.recoveryCodes).toHaveLength(10);
  expect(new Set(confirmed.body.recoveryCodes).size).toBe(10);
  for (const code of confirmed.body.recoveryCodes) expect(code).toMatch(/^([A-Z2-7]{4}-){5}[A-Z2-7]{4}$/);
  expect((await person.get("/auth/me")).status).toBe(200);
  expect((await rest(service.url, "GET", "/auth/me", { credentials: other })).status).toBe(401);
  expectError(await person.post("/auth/totp", { password: person.password }), "second_factor_exists");
  expectError(await person.post("/auth/totp/confirm", { code: codeOf(service, secret) }), "not_found");

  const stored = await service.services.database.query(sql`
    SELECT f::text, (SELECT array_agg(r::text) FROM recovery_codes r WHERE r.user_id = f.user_id) FROM totp_factors f
    WHERE f.user_id = ${person.id}::uuid`);
  for (const shown of [secret, ...confirmed.body.recoveryCodes]) expect(JSON.stringify(stored)).not.toContain(shown);
});

test("a login needs a code that was not used, of now or a step away; a wrong password reveals nothing", async () => {
  const person = await createPerson(service);
  const { secret } = await setUpTotp(service, person);
  expectError((await signIn(service, person)).answer, "second_factor_required");
  expectError((await signIn(service, person, codeOf(service, secret, -3))).answer, "second_factor_required");
  expectError((await signIn(service, person, codeOf(service, secret, 2))).answer, "second_factor_required");
  for (const code of [undefined, codeOf(service, secret)]) {
    const guess = await signIn(service, { ...person, password: "wrong password" }, code);
    expectError(guess.answer, "invalid_credentials");
  }
  const code = codeOf(service, secret);
  const { answer, session } = await signIn(service, person, `${code.slice(0, 3)} ${code.slice(3)}`);
  expect(answer.status).toBe(200);
  expect((await rest(service.url, "GET", "/auth/me", { credentials: session })).status).toBe(200);
  expectError((await signIn(service, person, code)).answer, "second_factor_required");
  expectError((await signIn(service, person, codeOf(service, secret, -1))).answer, "second_factor_required");
  expect((await signIn(service, person, codeOf(service, secret, 1))).answer.status).toBe(200);
});

test("of parallel logins with one code, one gets in; the same for a recovery code", async () => {
  const person = await createPerson(service);
  const { secret, recoveryCodes } = await setUpTotp(service, person);
  const [recoveryCode = ""] = recoveryCodes;
  for (const code of [codeOf(service, secret), recoveryCode.toLowerCase().replaceAll("-", " ")]) {
    const answers = await Promise.all(Array.from({ length: 4 }, () => signIn(service, person, code)));
    expect(answers.map(({ answer }) => answer.status).sort()).toEqual([200, 401, 401, 401]);
  }
});

test("guesses are bounded exactly, however parallel, and a recovery code still gets its owner in", async () => {
  const person = await createPerson(service);
  const { secret, recoveryCodes } = await setUpTotp(service, person);
  const guess = (codes: string[]) =>
    Promise.all(codes.map(async (code) => (await signIn(service, person, code)).answer));
  const wrong = Array.from({ length: 10 }, (_, index) => String(index).repeat(6)).filter(
    (code) => ![-1, 0, 1].some((step) => codeOf(service, secret, step) === code),
  );
  const answers = await guess(wrong);
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(wrong.length - 5);
  for (const answer of refused) expectError(answer, "rate_limited");
  expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(50);

  expectError((await signIn(service, person, codeOf(service, secret))).answer, "rate_limited");
  expect((await signIn(service, person, recoveryCodes[0])).answer.status).toBe(200);
  service.clock.advance(61);
  const [next, ...others] = await guess(wrong.slice(0, 3));
  expect([next, ...others].map((answer) => answer?.status).sort()).toEqual([401, 429, 429]);
  service.clock.advance(121);
  expect((await signIn(service, person, codeOf(service, secret))).answer.status).toBe(200);
  // A right code sets the count back.
  expect((await guess(wrong.slice(0, 4))).map(({ status }) => status)).toEqual([401, 401, 401, 401]);
});

test("removing the factor needs the password and a code, in the body, and ends the other sessions", async () => {
  const person = await createPerson(service);
  const { secret, recoveryCodes } = await setUpTotp(service, person);
  const [recoveryCode = ""] = recoveryCodes;
  const used = codeOf(service, secret);
  const other = (await signIn(service, person, used)).session;
  const { password } = person;
  const remove = (body: unknown) => person.delete("/auth/totp", body);
  expectError(await remove({ password: "wrong", code: recoveryCode }), "invalid_credentials");
  expectError(await remove({ password }), "second_factor_required");
  expectError(await remove({ password, code: used }), "second_factor_required");
  expectError(await person.delete(`/auth/totp?password=${encodeURIComponent(password)}`), "invalid_input");
  expect((await remove({ password, code: recoveryCode })).status).toBe(204);
  expectError(await remove({ password, code: recoveryCode }), "not_found");
  expect((await rest(service.url, "GET", "/auth/me", { credentials: other })).status).toBe(401);
  expect((await signIn(service, person)).answer.status).toBe(200);
});

test("MODERATOR_TOTP=required refuses a moderator's session without the factor, and says what to do", async () => {
  const moderator = await createModerator(strict);
  const user = await createPerson(strict);
  const attempts = (credentials = moderator.session) =>
    Promise.all([
      rest(strict.url, "GET", "/users", { credentials }),
      rest(strict.url, "GET", "/moderation/actions", { credentials }),
      rest(strict.url, "POST", `/users/${user.id}/suspend`, { credentials, body: { reason: "Spam." } }),
      rest(strict.url, "POST", `/users/${user.id}/reinstate`, { credentials }),
      rest(strict.url, "POST", `/disputes/${user.id}/resolve`, { credentials, body: { resolution: "refund" } }),
    ]);
  for (const answer of await attempts()) {
    expectError(answer, "forbidden");
    expect(answer.body.message).toContain("/auth/totp");
  }
  const { task, dispute } = await disputedTask(await createPerson(strict, { cents: 10_000 }), user);
  const seen = async () => [
    (await moderator.get(`/disputes/${dispute.id}`)).status,
    (await moderator.get("/disputes")).body.disputes.length,
    "deliveries" in (await moderator.get(`/tasks/${task.id}`)).body,
  ];
  expect(await seen()).toEqual([404, 0, false]);
  const { secret } = await setUpTotp(strict, moderator);
  expect(await seen()).toEqual([200, 1, true]);
  expect((await attempts()).map(({ status }) => status)).toEqual([200, 200, 200, 200, 404]);
  const { session } = await signIn(strict, moderator, codeOf(strict, secret));
  expect((await attempts(session)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 404]);
  strict.clock.advance(90);
  expect(
    (await moderator.delete("/auth/totp", { password: moderator.password, code: codeOf(strict, secret) })).status,
  ).toBe(204);
  for (const answer of await attempts()) expectError(answer, "forbidden");
  // A plain user is told nothing about it.
  const member = await createPerson(strict);
  expect((await member.get("/users")).body.message).toBe("You are not allowed to do this.");
});
