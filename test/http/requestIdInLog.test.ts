import { expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("an internal error is logged with the request id that the client got", async () => {
  const person = await createPerson(service);
  await service.owner.query(sql`ALTER TABLE wallets RENAME TO wallets_away`);
  const answer = await person.get("/wallet");
  await service.owner.query(sql`ALTER TABLE wallets_away RENAME TO wallets`);

  expect(answer.status).toBe(500);
  const [line = "{}"] = service.errors.splice(0);
  expect(JSON.parse(line)).toMatchObject({ requestId: answer.body.requestId, procedure: "wallet.read" });
});
