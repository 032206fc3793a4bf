import type { Scope } from "../../server/schemas/scope.ts";
import { scopes as allScopes } from "../../server/schemas/scope.ts";
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
  delete(path: string): Promise<Answer>;
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

/** Signs up over HTTP. Calls go with the session unless `using: "key"`. `cents` are credited to the wallet. */
export async function createPerson(
  service: Reachable,
  options: { cents?: number; using?: "session" | "key" } = {},
): Promise<TestPerson> {
  const { url } = service;
  const number = ++count;
  const email = `person${number}@example.com`;
  const password = "correct horse battery";
  const displayName = `Person ${number}`;
  const answer = await rest(url, "POST", "/auth/signup", { body: { email, password, displayName } });
  const { id } = answer.body.user;
  const session = cookieOf(answer);
  const key = await createKey(url, session);
  if (options.cents) await fund(service, id, options.cents);
  const credentials = options.using === "key" ? key : session;
  return {
    ...{ id, email, password, displayName, session, key },
    get: (path) => rest(url, "GET", path, { credentials }),
    post: (path, body) => rest(url, "POST", path, { body, credentials }),
    patch: (path, body) => rest(url, "PATCH", path, { body, credentials }),
    delete: (path) => rest(url, "DELETE", path, { credentials }),
  };
}

/** Credits money from outside, without a checkout page. */
export async function fund(service: Reachable, userId: string, cents: number): Promise<void> {
  await service.services.database.transaction((tx) =>
    tx.ledger.deposit(userId, "topup", cents, `test ${crypto.randomUUID()}`),
  );
}
