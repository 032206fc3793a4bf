import type { Processor } from "../gateways/processor.ts";
import type { Connection } from "../store/connection.ts";

/**
 * Two values that should agree but do not: the subject, the value it should have and the one it has. Amounts are cents.
 */
export interface Discrepancy {
  check: string;
  subject: string;
  expected: string;
  actual: string;
}

/** Our records, and the processor's to compare them with. */
export interface Books {
  database: Connection;
  processor: Processor;
}
