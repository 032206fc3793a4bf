import type { Processor } from "../gateways/processor.ts";
import type { Connection } from "../store/connection.ts";

/** Two values that should agree but do not. Amounts are in cents. */
export interface Discrepancy {
  check: string;
  /** The record with the wrong value, for example `task <id>`. */
  subject: string;
  expected: string;
  actual: string;
}

/** Our records, and the payment processor's to compare them with. */
export interface Books {
  database: Connection;
  processor: Processor;
}
