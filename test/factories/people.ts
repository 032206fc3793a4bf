import { generateApiKey } from "../../server/auth/apiKeys.ts";
import { hashPassword } from "../../server/auth/passwords.ts";
import type { Principal } from "../../server/auth/principal.ts";
import { hashSecret } from "../../server/auth/secretHash.ts";
import { encryptSessionId, sessionCookieName, startSession } from "../../server/auth/sessions.ts";
import type { Scope } from "../../server/schemas/scope.ts";
import { scopes as allScopes } from "../../server/schemas/scope.ts";
import { queryOne, sql } from "../../server/store/connection.ts";
import type { Transaction } from "../../server/store/database.ts";
import { type Answer, type Credentials, rest } from "../setup/client.ts";
import type { Reachable } from "../setup/testService.ts";

export interface TestPerson {
  id: string;
  email: string;
  password: string;
  displayName: string;
  /** The session's cookie. */
  session: Credentials;
  /** An API key with every scope. */
  key: Credentials;
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown): Promise<Answer>;
  patch(path: string, body: unknown): Promise<Answer>;
  delete(path: string, body?: unknown): Promise<Answer>;
}

let count = 0;

/** The cookie that an answer sets, as the browser would send it back. */
export function cookieOf(answer: Pick<Answer, "headers">): Credentials {
  const [pair = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
  return { cookie: pair };
}

const bearer = (key: string): Credentials => ({ authorization: `Bearer ${key}` });

export async function createKey(
  url: string,
  session: Credentials,
  scopes: readonly Scope[] = allScopes,
): Promise<Credentials> {
  const answer = await rest(url, "POST", "/keys", { body: { label: "test", scopes }, credentials: session });
  return bearer(answer.body.raw);
}

const password = "correct horse battery";
let passwordHash: Promise<string> | undefined;

/**
 * Writes the rows that signing up and creating a key would write, with one password hash for everybody: a hash takes 20 ms of
 * a core, a request 3 ms, and the suite has some thousand people. A service in another process, whose secrets are not at hand,
 * is asked over HTTP.
 */
async function signUp(service: Reachable, email: string, displayName: string, cents: number) {
  const { url, services } = service;
  if (services.settings === undefined) {
    const answer = await rest(url, "POST", "/auth/signup", { body: { email, password, displayName } });
    const { id } = answer.body.user;
    const session = cookieOf(answer);
    if (cents > 0) await fund(service, id, cents);
    return { id, session, key: await createKey(url, session) };
  }
  passwordHash ??= hashPassword(password);
  const hash = await passwordHash;
  const now = services.clock?.now() ?? new Date();
  const key = generateApiKey();
  const { id, sessionId } = await services.database.transaction(async (tx) => {
    const { id } = await queryOne<{ id: string }>(
      tx,
      sql`
      WITH person AS (
        INSERT INTO users (email, password_hash, display_name) VALUES (${email}, ${hash}, ${displayName}) RETURNING id),
      key AS (
        INSERT INTO api_keys (user_id, label, scopes, key_hash, last4, expires_at)
        SELECT id, 'test', ${allScopes}::text[], ${hashSecret(key)}, ${key.slice(-4)}, 'infinity' FROM person)
      SELECT id FROM person`,
    );
    if (cents > 0) await deposit(tx, id, cents);
    return { id, sessionId: await startSession(tx, id, now) };
  });
  const seal = await encryptSessionId(sessionId, services.settings.sessionSecrets);
  const session: Credentials = {
    cookie: `${sessionCookieName(services.settings.publicUrl)}=${encodeURIComponent(seal)}`,
  };
  return { id, session, key: bearer(key) };
}

/** A person who has signed up. Calls go with the session unless `using: "key"`. `cents` are credited to the wallet. */
export async function createPerson(
  service: Reachable,
  options: { cents?: number; using?: "session" | "key" } = {},
): Promise<TestPerson> {
  const { url } = service;
  const number = ++count;
  const email = `person${number}@example.com`;
  const displayName = `Person ${number}`;
  const { id, session, key } = await signUp(service, email, displayName, options.cents ?? 0);
  const credentials = options.using === "key" ? key : session;
  return {
    ...{ id, email, password, displayName, session, key },
    get: (path) => rest(url, "GET", path, { credentials }),
    post: (path, body) => rest(url, "POST", path, { body, credentials }),
    patch: (path, body) => rest(url, "PATCH", path, { body, credentials }),
    delete: (path, body) => rest(url, "DELETE", path, { body, credentials }),
  };
}

/** What a request with the person's session is authenticated as. */
export async function callerOf({ services }: Reachable, { id }: TestPerson): Promise<Principal> {
  const session = await queryOne<{ id: string }>(
    services.database,
    sql`SELECT id FROM sessions WHERE user_id = ${id}::uuid LIMIT 1`,
  );
  return { kind: "session", userId: id, sessionId: session.id, moderator: false, secondFactor: false };
}

/** Credits money from outside, without a checkout page. */
export async function fund(service: Reachable, userId: string, cents: number): Promise<void> {
  await service.services.database.transaction((tx) => deposit(tx, userId, cents));
}

const deposit = (tx: Transaction, userId: string, cents: number) =>
  tx.ledger.deposit(userId, "topup", cents, `test ${crypto.randomUUID()}`);
