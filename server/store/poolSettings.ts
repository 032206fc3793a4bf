/**
 * How many connections a pool opens, and how long one statement may take. Statements are unlimited by default, which is
 * what migrations, seeds and commands need.
 */
export interface PoolSettings {
  /** What `pg_stat_activity` shows as `application_name`. */
  name?: string;
  /** Maximum number of connections. */
  poolSize: number;
  /** Maximum time that a statement waits for a lock. Beyond it Postgres cancels the statement with 55P03. */
  lockTimeoutSeconds?: number;
  /** Maximum time of a statement, waiting included. Beyond it Postgres cancels the statement with 57014. */
  statementTimeoutSeconds?: number;
  /** Closes a connection whose server has sent no answer to a statement for this long, such as one that is suspended. */
  silenceTimeoutSeconds?: number;
  /**
   * The address is that of a pooler in transaction mode, which gives a connection of the server for one transaction at a time:
   * statements have no names, and the role says the time zone and the time-outs.
   */
  pooler?: "transaction" | undefined;
  /** Closes all connections when the server does not answer others either, for a pool whose statements may take long. */
  closesWhenSilent?: true;
}

/**
 * The pool of the requests of one API process. A call takes a connection for some milliseconds at a time, so the processor
 * is busy long before 10 connections are, and each is a process of Postgres whose caches push out those of the others: on two
 * cores, 20 clients made a quarter more payments a second over 8 connections than over 20 (measured). A row is locked for milliseconds too: a request that has waited 5 s for a lock
 * stands behind something that is stuck, and a statement that has run for 10 s is a mistake.
 */
export const requestPool: PoolSettings = {
  name: "rebid requests",
  poolSize: 10,
  lockTimeoutSeconds: 5,
  statementTimeoutSeconds: 10,
  silenceTimeoutSeconds: 15,
};

/**
 * The pool of everything in the background of one process: 8 jobs and 4 messages at a time, the two connections on which the job
 * queue listens, the sweeps and the delivery of events. It is separate so that neither requests nor jobs can take all the
 * connections of the other. Batches may take longer than requests; the audit lifts the limit for itself.
 */
export const jobPool: PoolSettings = {
  name: "rebid jobs",
  poolSize: 14,
  lockTimeoutSeconds: 10,
  statementTimeoutSeconds: 300,
  closesWhenSilent: true,
};
