import { sql } from "../../server/store/connection.ts";
import { control, eventually } from "../setup/processorControl.ts";
import type { Reachable, WithProcessor } from "../setup/testService.ts";
import type { TestPerson } from "./people.ts";

export interface TestTopup {
  id: string;
  sessionId: string;
  amountCents: number;
}

/** Opens a checkout page; nobody has paid yet. */
export async function openTopup({ services }: Reachable, person: TestPerson, amountCents = 5_000): Promise<TestTopup> {
  const answer = await person.post("/wallet/topup", { amountCents });
  if (answer.status !== 200) throw new Error(`the top-up returned ${answer.status}: ${answer.text}`);
  const { sessionId } = answer.body;
  const [row] = await services.database.query<{ id: string }>(
    sql`SELECT id FROM topups WHERE session_id = ${sessionId}`,
  );
  return { id: row?.id ?? "", sessionId, amountCents };
}

/** Pays a checkout page, with one of the processor's outcomes. */
export async function pay(service: WithProcessor, { sessionId }: TestTopup, outcome = "pays"): Promise<void> {
  await control(service, "POST", `checkout/${sessionId}/pay`, { outcome });
}

export async function paidTopup(service: WithProcessor, person: TestPerson, amountCents = 5_000, outcome = "pays") {
  const topup = await openTopup(service, person, amountCents);
  await pay(service, topup, outcome);
  return topup;
}

export async function topupStatus({ services }: Reachable, { id }: TestTopup): Promise<string | undefined> {
  const [row] = await services.database.query<{ status: string }>(
    sql`SELECT status FROM topups WHERE id = ${id}::uuid`,
  );
  return row?.status;
}

/** Waits until the processor has sent every event and all are applied: nothing new for longer than its steps take. */
export async function quiet(service: WithProcessor): Promise<void> {
  let still = 0;
  await eventually(
    async () => {
      const { pending } = await control<{ pending: unknown[] }>(service, "GET", "events");
      const [row] = await service.services.database.query<{ waiting: number }>(sql`
        SELECT (SELECT count(*) FROM processor_events WHERE processed_at IS NULL)
             + (SELECT count(*) FROM graphile_worker.jobs WHERE run_at <= now()) AS waiting`);
      still = pending.length === 0 && row?.waiting === 0 ? still + 1 : 0;
      return still;
    },
    (polls) => polls >= 10,
  );
}
