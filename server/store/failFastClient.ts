import pg from "pg";

/** Pause between two attempts to connect to a database that did not accept the previous one. */
const RETRY_INTERVAL_MS = 250;

/** The message of an attempt that was not made; `isDatabaseUnavailable` knows it. */
export const NOT_CONNECTED = "Connection not attempted: the database did not accept the previous one";

/**
 * Returns a class of clients for one pool. After an attempt to connect has failed, a single client tries again, four times
 * a second, and the others fail immediately. Without this, every request to a host that does not answer would wait for
 * the timeout of its own attempt.
 */
export function failFastClients(): typeof pg.Client {
  let failedAtMs: number | null = null;
  let isTrying = false;

  return class extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: ((error: Error) => void) | ((error: null, client: pg.Client) => void)): void;
    override connect(callback?: (error: never, client: pg.Client) => void): Promise<pg.Client> | undefined {
      const attempt = this.#attempt();
      if (callback === undefined) return attempt;
      // The pool's own callbacks do not throw; `pg` declares the success and the failure as different functions.
      const done = callback as (error: Error | null, client?: pg.Client) => void;
      attempt.then(
        () => done(null, this),
        (error: Error) => done(error),
      );
      return undefined;
    }

    async #attempt(): Promise<pg.Client> {
      const isDown = failedAtMs !== null;
      if (failedAtMs !== null && (isTrying || performance.now() - failedAtMs < RETRY_INTERVAL_MS)) {
        throw new Error(NOT_CONNECTED);
      }
      isTrying = isDown;
      try {
        await super.connect();
        failedAtMs = null;
      } catch (error) {
        failedAtMs = performance.now();
        throw error;
      } finally {
        if (isDown) isTrying = false;
      }
      return this;
    }
  };
}
