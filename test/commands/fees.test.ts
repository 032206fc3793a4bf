import { beforeAll, expect, test } from "vitest";
import { command } from "../../server/commands/fees.ts";
import { createPerson } from "../factories/people.ts";
import { deliveredTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { operatorSettings, runHere } from "../setup/commandProcess.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const fees = (words: string) => runHere(command, words.split(" "), operatorSettings(service));
const schedules = async () => (await rest(service.url, "GET", "/fees")).body.schedules;

beforeAll(async () => {
  const { code, stdout } = await fees(
    "set --basis-points 500 --min-cents 50 --max-cents 20000 --tax-basis-points 1900",
  );
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^From .*, the fee is 5 % of the price, at least 50 cents/),
  ]);
  const buyer = await createPerson(service, { cents: 20_000 });
  const bidder = await createPerson(service);
  const { task } = await deliveredTask(buyer, bidder, { priceCents: 10_000 });
  await buyer.post(`/tasks/${task.id}/accept`);
});

test("set adds a schedule that everyone can read", async () => {
  const terms = { basisPoints: 500, minCents: 50, maxCents: 20_000, taxBasisPoints: 1_900 };
  expect(await schedules()).toMatchObject([terms]);
  expect((await fees("set --basis-points 250 --from 2100-01-01T00:00:00Z")).code).toBe(0);
  const future = {
    from: "2100-01-01T00:00:00.000000Z",
    basisPoints: 250,
    minCents: 0,
    maxCents: null,
    taxBasisPoints: 0,
  };
  expect(await schedules()).toMatchObject([future, terms]);
});

test.each([
  [
    "set --basis-points 100 --from 2020-01-01T00:00:00Z",
    1,
    /A schedule cannot start in the past: 2020-01-01T00:00:00Z is over\./,
  ],
  [
    "set --basis-points 100 --min-cents 300 --max-cents 200",
    2,
    /The minimum of 300 cents is above the maximum of 200 cents\./,
  ],
  ["set --min-cents 1", 2, /--basis-points is required/],
  ["set --basis-points 5001", 2, /--basis-points must be an integer from 0 to 5000, not "5001"/],
  ["set --basis-points 1.5", 2, /--basis-points must be an integer/],
  ["set --basis-points 1 --from tomorrow", 2, /--from must be an ISO 8601 timestamp/],
  ["withdraw 100", 2, /--reference must have/],
  ["withdraw 0 --reference R", 2, /CENTS must be an integer from 1/],
  ["withdraw --reference R", 2, /CENTS is required/],
  ["withdraw 501 --reference too-much", 1, /The platform has \d+ cents, less than 501\. Nothing was booked\./],
])("%s is refused with a sentence", async (words, code, sentence) => {
  const before = await schedules();
  const refused = await fees(words);
  expect([refused.code, refused.stdout]).toEqual([code, ""]);
  expect(refused.stderr).toMatch(sentence);
  expect(await schedules()).toEqual(before);
});

test("a withdrawal is booked once for its reference", async () => {
  expect(await fees("withdraw 200 --reference po_1")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Withdrew 200 cents, reference po_1. The platform has 300 cents left."),
  });
  expect(await fees("withdraw 200 --reference po_1")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(
      "200 cents were already withdrawn, reference po_1. The platform has 300 cents left.",
    ),
  });
  const other = await fees("withdraw 100 --reference po_1");
  expect([other.code, other.stderr]).toEqual([
    1,
    expect.stringContaining("The reference po_1 was used for another amount."),
  ]);
});
