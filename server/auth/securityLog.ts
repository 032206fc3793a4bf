import type { Logger } from "pino";
import type { Principal } from "./principal.ts";

/**
 * What the security log records, by stable name. docs/guides/operating.md has the same table.
 * A refusal is something that an attacker can repeat, so it is bounded; see `SecurityLog.refuse`.
 */
export const securityActions = {
  "account.created": "someone signed up",
  "login.succeeded": "someone signed in",
  "login.failed": "a password or a code of the second factor was wrong, or the account is suspended",
  "password.changed": "someone changed their password",
  "password.reset": "someone chose a new password with the link of a mail, or an operator's",
  "password.linkPrinted": "an operator printed a link with which a user can choose a new password",
  "email.verified": "someone opened the link of a mail to their address",
  "secondFactor.added": "someone set up a second factor",
  "secondFactor.removed": "someone, or an operator for them, removed a second factor",
  "session.ended": "someone signed out, or ended another of their sessions",
  "access.denied": "a call was refused with 401 or 403",
  "key.created": "an API key was created",
  "key.revoked": "an API key was revoked",
  "approval.decided": "an owner approved or declined what an API key asks",
  "role.granted": "an operator made a user a moderator",
  "role.revoked": "an operator took the role of moderator away",
  "user.suspended": "a moderator or an operator suspended a user",
  "user.reinstated": "a moderator or an operator lifted a suspension",
  "account.closed": "someone closed their account",
  "question.removed": "a moderator removed a question",
  "dispute.resolved": "a moderator or an operator decided a dispute",
} as const;
type SecurityAction = keyof typeof securityActions;

/** Who does something, and from where; a procedure's context is one. The operator works on the command line. */
export type Actor =
  | { readonly principal: Principal | null; readonly client: { readonly address: string }; readonly requestId: string }
  | "operator";

/** Further fields of an entry: ids, codes and names of operations, never secrets and never texts that a caller sent. */
type SecurityDetails = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

export interface SecurityLog {
  /** Records what has happened. Inside a transaction, wait for its commit: `tx.onCommit(() => ctx.securityLog.record(…))`. */
  record(actor: Actor, action: SecurityAction, details?: SecurityDetails): void;
  /**
   * Records a refusal. Of one action and user (or, without one, address), the first 10 of a minute have a line each, and
   * the others one line together, with their count.
   */
  refuse(actor: Actor, action: SecurityAction, details?: SecurityDetails): void;
  /** Writes what was only counted so far. */
  flush(): void;
}

const REFUSALS_PER_MINUTE = 10;
/** Beyond this many callers a minute, the rest share one line, so that many addresses do not flood the log either. */
const MAX_CALLERS = 1_000;
const CROWD = "many";
const MINUTE_MS = 60_000;

/** Writes one line of `log`, at level info, for each entry: `event` is "security", and `time` says when. */
export function openSecurityLog(log: Logger): SecurityLog {
  const refusals = new Map<string, { fields: object; count: number }>();
  let timer: NodeJS.Timeout | undefined;

  const write = (fields: object) => log.info({ event: "security", ...fields });
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const repeated = [...refusals.values()].filter(({ count }) => count > REFUSALS_PER_MINUTE);
    refusals.clear();
    for (const { fields, count } of repeated) write({ ...fields, suppressed: count - REFUSALS_PER_MINUTE });
  };

  return {
    record: (actor, action, details) => write({ action, ...fieldsOf(actor), ...details }),
    refuse(actor, action, details) {
      const fields = { action, ...fieldsOf(actor), ...details };
      const { userId, address } = fields;
      const own = `${action} ${userId ?? address}`;
      const isCrowd = !refusals.has(own) && refusals.size >= MAX_CALLERS;
      const known = isCrowd
        ? (refusals.get(CROWD) ?? { fields: { action, address: CROWD }, count: REFUSALS_PER_MINUTE })
        : (refusals.get(own) ?? { fields: { action, userId, address }, count: 0 });
      refusals.set(isCrowd ? CROWD : own, { ...known, count: known.count + 1 });
      timer ??= setTimeout(flush, MINUTE_MS).unref();
      if (known.count < REFUSALS_PER_MINUTE) write(fields);
    },
    flush,
  };
}

function fieldsOf(actor: Actor) {
  if (actor === "operator") return { userId: null, via: "operator", address: "local", requestId: crypto.randomUUID() };
  const { principal, client, requestId } = actor;
  const { address } = client;
  if (principal === null) return { userId: null, via: "anonymous", address, requestId };
  const { kind: via, userId } = principal;
  return { userId, via, ...(principal.kind === "apiKey" && { keyId: principal.keyId }), address, requestId };
}
