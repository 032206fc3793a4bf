import { sql } from "../../server/store/connection.ts";
import { control } from "../setup/processorControl.ts";
import type { Reachable, WithProcessor } from "../setup/testService.ts";
import { createPerson, type TestPerson } from "./people.ts";

export interface Payee extends TestPerson {
  accountId: string;
}

export async function accountOf({ services }: Reachable, userId: string): Promise<string> {
  const [row] = await services.database.query<{ accountId: string }>(sql`
    SELECT account_id AS "accountId" FROM payout_accounts WHERE user_id = ${userId}::uuid`);
  if (!row) throw new Error(`user ${userId} has no payout account`);
  return row.accountId;
}

/** A person with money who has finished the payout onboarding; `bank` decides how payouts end. */
export async function createPayee(
  service: WithProcessor,
  { cents = 50_000, bank = "pays", platformCents = 1_000_000 } = {},
): Promise<Payee> {
  const person = await createPerson(service, { cents });
  const answer = await person.post("/payouts/onboarding");
  if (answer.status !== 200) throw new Error(`onboarding returned ${answer.status}: ${answer.text}`);
  const accountId = await accountOf(service, person.id);
  await control(service, "POST", `accounts/${accountId}/onboard`, { outcome: "finishes", bank });
  // The factory's money did not pass through the processor; transfers need it on the platform's balance.
  if (platformCents > 0) await control(service, "POST", "balance", { amountCents: platformCents });
  return { ...person, accountId };
}

export async function requestPayout(payee: TestPerson, amountCents: number): Promise<string> {
  const answer = await payee.post("/payouts", { amountCents });
  if (answer.status !== 202) throw new Error(`the payout returned ${answer.status}: ${answer.text}`);
  return answer.body.pendingLedgerId;
}
