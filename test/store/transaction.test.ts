import { expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("a transaction fails if the error of one of its statements was caught, because nothing of it is committed", async () => {
  const { database } = service.services;
  const work = database.transaction(async (tx) => {
    await tx.query(sql`SELECT 1 / 0`).catch(() => {});
    return "done";
  });
  await expect(work).rejects.toThrow("nothing was committed");
  expect(await database.query(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
});
