import type { Logger } from "pino";
import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import type { Clock } from "./gateways/clock.ts";
import type { Egress } from "./gateways/egress.ts";
import type { Processor } from "./gateways/processor.ts";
import type { Storage } from "./gateways/storage.ts";

/** The settings that the business rules read. */
export type Settings = Pick<
  Config,
  | "acceptanceWindowSeconds"
  | "deliveryGraceSeconds"
  | "processorPollSeconds"
  | "spamGuard"
  | "webhookAllowInsecure"
  | "webhookRetrySeconds"
  | "webhookTimeoutSeconds"
> & {
  readonly publicUrl: string;
  readonly sessionSecret: string;
};

/** What procedures and jobs work with: built once at start, and by hand in tests. */
export interface Services {
  readonly settings: Settings;
  readonly database: Database;
  readonly clock: Clock;
  readonly processor: Processor;
  readonly storage: Storage;
  /** Requests to addresses that users chose. */
  readonly egress: Egress;
  readonly log: Logger;
}
