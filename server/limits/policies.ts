/**
 * The policies and how many requests each allows in a window, which is a minute. `signup`, `login`, `recovery`, `tokens` and `anonymous…` have
 * a counter for each address, the others one for each user. The names are public: responses carry them in `RateLimit`.
 * Source: docs/contract.md "Limits".
 */
export const defaultLimits = {
  signup: 10,
  login: 10,
  recovery: 10,
  credentials: 10,
  tokens: 60,
  exports: 60,
  "anonymous-public-reads": 60,
  "anonymous-task-writes": 30,
  anonymous: 300,
  "task-writes": 300,
  reads: 600,
  writes: 300,
  messages: 60,
  preflights: 30,
};

export type PolicyName = keyof typeof defaultLimits;

/** The length of a window, which begins with the first request that it counts. Source: docs/contract.md "Limits". */
export const WINDOW_SECONDS = 60;

/**
 * Policies of whose counters a process may take several requests at once, so that most reads cost no query. The others are exact
 * over all processes: not one request is refused because another process holds an unused share.
 */
const takenAhead: ReadonlySet<PolicyName> = new Set(["anonymous-public-reads", "anonymous", "reads"]);

const MAX_SHARE = 30;

/**
 * Returns how many requests a process takes from a counter at a time: a quarter of what is left, so that shares become
 * smaller and what other processes hold costs a caller little. A reader's 600 requests take about 35 queries.
 */
export function shareOf(policy: PolicyName, remaining: number): number {
  if (!takenAhead.has(policy)) return 1;
  return Math.max(1, Math.min(MAX_SHARE, Math.floor(remaining / 4)));
}

/** What an operation counts as. */
export type RateGroup =
  | "signup"
  | "login"
  | "recovery"
  | "credentials"
  | "token"
  | "export"
  | "publicRead"
  | "taskWrite"
  | "read"
  | "write"
  | "message"
  | "preflight";

const policiesByGroup: Record<RateGroup, { anonymous: PolicyName; user: PolicyName | null }> = {
  // By address even with valid credentials: they must not buy further attempts at someone's password.
  signup: { anonymous: "signup", user: null },
  login: { anonymous: "login", user: null },
  // What sends mails to an address, or tries a token that came in one.
  recovery: { anonymous: "recovery", user: null },
  credentials: { anonymous: "anonymous", user: "credentials" },
  // The endpoints of OAuth where a client has no user yet.
  token: { anonymous: "tokens", user: null },
  export: { anonymous: "anonymous", user: "exports" },
  publicRead: { anonymous: "anonymous-public-reads", user: "reads" },
  taskWrite: { anonymous: "anonymous-task-writes", user: "task-writes" },
  read: { anonymous: "anonymous", user: "reads" },
  write: { anonymous: "anonymous", user: "writes" },
  message: { anonymous: "anonymous", user: "messages" },
  preflight: { anonymous: "anonymous", user: "preflights" },
};

/** Who sends a request. `userId` is null unless its credentials are valid. */
export interface Caller {
  /** The address, as `clientAddress` returns it. */
  readonly address: string;
  readonly userId: string | null;
}

/** Returns the counter of a request: its user's, or else its address's. */
export function counterOf(group: RateGroup, { address, userId }: Caller): { policy: PolicyName; key: string } {
  const { anonymous, user } = policiesByGroup[group];
  return userId === null || user === null ? { policy: anonymous, key: address } : { policy: user, key: userId };
}
