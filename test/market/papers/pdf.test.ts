import { expect, test } from "vitest";
import { receiptPaper, statementPaper } from "../../../server/market/papers/papers.ts";
import { runsOf } from "../../../server/market/papers/pdf/fonts.ts";
import { makePdf } from "../../../server/market/papers/pdf/makePdf.ts";
import type { Receipt } from "../../../server/market/papers/receipts.ts";
import { createPerson } from "../../factories/people.ts";
import { postTask } from "../../factories/tasks.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
const settings = {
  operatorPaper: "A4",
  operatorTimeZone: "Europe/Helsinki",
  publicUrl: "https://rebid.example",
} as const;
const nobody = { name: null, address: null, taxId: null };
const receipt: Receipt = {
  ...{ number: "2026-000042", kind: "task", paidAt: "2026-11-25T12:00:00.123456Z", currency: "usd" },
  ...{ amountCents: 9_000, priceCents: 9_000, taskId: "019aa1b2-0000-7000-8000-000000000003", topupId: null },
  ...{ payoutId: null, title: "Translate a page", operator: nobody },
  payer: { id: "019aa1b2-0000-7000-8000-000000000001", displayName: "Ada" },
  payee: { id: "019aa1b2-0000-7000-8000-000000000002", displayName: "Grace" },
};
const text = (pdf: Uint8Array) => Buffer.from(pdf).toString("latin1");
const count = (pdf: Uint8Array, what: RegExp) => text(pdf).match(what)?.length ?? 0;

test("a paper is made again byte for byte, as A4 or as Letter", async () => {
  const [first, again] = [
    await makePdf(receiptPaper(receipt, settings)),
    await makePdf(receiptPaper(receipt, settings)),
  ];
  expect(Buffer.compare(first, again)).toBe(0);
  expect(text(first)).toMatch(/^%PDF-1\.\d.*\/MediaBox \[0 0 595\.28 841\.89\]/s);
  const letter = await makePdf(receiptPaper(receipt, { ...settings, operatorPaper: "Letter" }));
  expect(text(letter)).toContain("/MediaBox [0 0 612 792]");
});

test("names in Latin, Greek, Cyrillic, Chinese, Japanese and Korean have a font, which is embedded with its text", async () => {
  const names = "Ada Łukasz Ørsted Ελένη Юлия Đặng 王小明 繁體龍 さくら カタカナ 한국어";
  expect(
    runsOf(names)
      .map((run) => run.text)
      .join(""),
  ).toBe(names.normalize("NFC"));
  expect(
    runsOf("a \u{1f600}")
      .map((run) => run.text)
      .join(""),
  ).toBe("a ?");
  const payer = { id: receipt.payer?.id ?? "", displayName: names };
  const pdf = await makePdf(receiptPaper({ ...receipt, payer, title: `${names} `.repeat(6) }, settings));
  const fonts = new Set(runsOf(names).map(({ font }) => font.name)).size;
  expect(fonts).toBeGreaterThanOrEqual(6);
  expect([count(pdf, /\/FontFile2 /g), count(pdf, /\/ToUnicode /g)]).toEqual([fonts, fonts]);
});

test("it says that it is no VAT invoice unless the operator's name, address and tax id are there", () => {
  const note = (operator: Receipt["operator"]) => receiptPaper({ ...receipt, operator }, settings).note;
  const whole = { name: "Rebid Oy", address: "Mannerheimintie 1\\nHelsinki", taxId: "FI12345678" };
  expect(note(whole)).not.toContain("VAT");
  for (const missing of ["name", "address", "taxId"])
    expect(note({ ...whole, [missing]: null })).toContain("no VAT invoice");
  expect(receiptPaper({ ...receipt, operator: whole }, settings).from).toEqual([
    ...["Rebid Oy", "Mannerheimintie 1", "Helsinki", "Tax ID: FI12345678", "https://rebid.example"],
  ]);
});

test("a statement on paper has the numbers of the statement", async () => {
  const buyer = await createPerson(service, { cents: 50_000 });
  await postTask(buyer, { maxBudgetCents: 12_345 });
  const [statement] = (await buyer.get("/wallet/statements")).body.statements;
  const paper = await statementPaper(service.services, buyer.id, statement);
  const said = JSON.stringify(paper);
  for (const number of ["$500.00", "$376.55", "$123.45", "-$123.45"]) expect(said).toContain(number);
  expect(text(await makePdf(paper))).toMatch(/^%PDF/);
});
