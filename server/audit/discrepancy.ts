/** Something that does not agree: what it is about, what it should be and what it is. Amounts are cents. */
export interface Discrepancy {
  check: string;
  subject: string;
  expected: string;
  actual: string;
}
