import { expect, test } from "vitest";
import { syncPayoutAccount } from "../../../server/procedures/payouts/accounts.ts";
import { createPayee } from "../../factories/payouts.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();

test("many who ask for one account at once ask the processor at most twice each", async () => {
  const { accountId } = await createPayee(service, { cents: 0 });
  const { processor } = service.services;
  let calls = 0;
  const counting = {
    ...processor,
    getAccount: (id: string) => {
      calls += 1;
      return processor.getAccount(id);
    },
  };
  const asked = Array.from({ length: 12 }, () =>
    syncPayoutAccount({ ...service.services, processor: counting }, accountId),
  );
  expect(await Promise.all(asked)).toEqual(asked.map(() => ({ active: true })));
  expect(calls).toBeLessThanOrEqual(24);
});
