import { hashPassword } from "../../server/auth/passwords.ts";
import type { Principal } from "../../server/auth/principal.ts";
import { sealSession, sessionCookieName, startSession } from "../../server/auth/sessions.ts";
import type { Scope } from "../../server/schemas/scope.ts";
import { scopes as allScopes } from "../../server/schemas/scope.ts";
import { queryOne, sql } from "../../server/store/connection.ts";
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

export async function createKey(
  url: string,
  session: Credentials,
  scopes: readonly Scope[] = allScopes,
): Promise<Credentials> {
  const answer = await rest(url, "POST", "/keys", { body: { label: "test", scopes }, credentials: session });
  return { authorization: `Bearer ${answer.body.raw}` };
}

const password = "correct horse battery";
let passwordHash: Promise<string> | undefined;

/**
 * Writes the rows that signing up would write, with one password hash for everybody: a hash takes 20 ms of a core, and the
 * suite has some thousand people. A service in another process, whose secrets are not at hand, is asked over HTTP.
 */
async function signUp({ url, services }: Reachable, email: string, displayName: string) {
  if (services.settings === undefined) {
    const answer = await rest(url, "POST", "/auth/signup", { body: { email, password, displayName } });
    return { id: answer.body.user.id, session: cookieOf(answer) };
  }
  passwordHash ??= hashPassword(password);
  const hash = await passwordHash;
  const now = services.clock?.now() ?? new Date();
  const { id, sessionId } = await services.database.transaction(async (tx) => {
    const user = await queryOne<{ id: string }>(
      tx,
      sql`
      INSERT INTO users (email, password_hash, display_name) VALUES (${email}, ${hash}, ${displayName}) RETURNING id`,
    );
    return { id: user.id, sessionId: await startSession(tx, user.id, now) };
  });
  const seal = await sealSession(sessionId, services.settings.sessionSecrets);
  return { id, session: { cookie: `${sessionCookieName(services.settings.publicUrl)}=${encodeURIComponent(seal)}` } };
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
  const { id, session } = await signUp(service, email, displayName);
  const key = await createKey(url, session);
  if (options.cents) await fund(service, id, options.cents);
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
  await service.services.database.transaction((tx) =>
    tx.ledger.deposit(userId, "topup", cents, `test ${crypto.randomUUID()}`),
  );
}
