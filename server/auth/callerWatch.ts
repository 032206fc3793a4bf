import { ApiError } from "../errors.ts";
import type { Clock } from "../gateways/clock.ts";
import { type Connection, sql } from "../store/connection.ts";
import { type Log, logFailure } from "../store/logFailure.ts";
import type { Principal } from "./principal.ts";

/** Waiting callers are looked up this often, so what they wait for ends within a second. */
const INTERVAL_MS = 500;

interface WatchOptions {
  database: Connection;
  clock: Clock;
  log: Log;
}

/**
 * Notices when the session or API key of a waiting request ends, by logout, revocation, expiry or suspension, in whichever
 * process that happens. Costs nothing while nobody waits, and otherwise one query per interval for all who do.
 */
export class CallerWatch {
  readonly #options: WatchOptions;
  /** Who waits, by the id of the session or key. */
  readonly #watched = {
    session: new Map<string, Set<AbortController>>(),
    apiKey: new Map<string, Set<AbortController>>(),
  };
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /**
   * Returns a signal that aborts with `unauthenticated` once the caller's credential is no longer valid, and when `until`
   * does, which ends the watch.
   */
  watch(principal: Principal, until: AbortSignal): AbortSignal {
    if (until.aborted) return until;
    const watched = this.#watched[principal.kind];
    const id = principal.kind === "session" ? principal.sessionId : principal.keyId;
    const waiting = watched.get(id) ?? new Set();
    const ended = new AbortController();
    watched.set(id, waiting.add(ended));
    const forget = () => {
      waiting.delete(ended);
      if (waiting.size === 0 && watched.get(id) === waiting) watched.delete(id);
    };
    until.addEventListener("abort", forget, { once: true });
    this.#schedule();
    return AbortSignal.any([until, ended.signal]);
  }

  /** Looks nobody up any more: the database is about to be closed. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const { session, apiKey } = this.#watched;
    if (this.#isStopped || this.#timer !== undefined || session.size + apiKey.size === 0) return;
    this.#timer = setTimeout(async () => {
      await this.#endInvalid().catch((error: unknown) =>
        logFailure(this.#options.log, error, {}, "waiting callers could not be looked up"),
      );
      this.#timer = undefined;
      this.#schedule();
    }, INTERVAL_MS).unref();
  }

  async #endInvalid(): Promise<void> {
    const { database, clock } = this.#options;
    const { session, apiKey } = this.#watched;
    const [sessionIds, keyIds] = [[...session.keys()], [...apiKey.keys()]];
    const rows = await database.query<{ id: string }>(sql`
      SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id
      WHERE s.id = ANY (${sessionIds}::uuid[]) AND s.expires_at > ${clock.now().toISOString()}::timestamptz
        AND u.suspended_at IS NULL
      UNION ALL
      SELECT k.id FROM api_keys k JOIN users u ON u.id = k.user_id
      WHERE k.id = ANY (${keyIds}::uuid[]) AND k.revoked_at IS NULL
        AND k.expires_at > ${clock.now().toISOString()}::timestamptz AND u.suspended_at IS NULL`);
    const valid = new Set(rows.map(({ id }) => id));
    const waiting = [
      ...sessionIds.flatMap((id) => (valid.has(id) ? [] : [...(session.get(id) ?? [])])),
      ...keyIds.flatMap((id) => (valid.has(id) ? [] : [...(apiKey.get(id) ?? [])])),
    ];
    for (const ended of waiting) ended.abort(new ApiError("unauthenticated"));
  }
}
