import { expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { signatureOf } from "../../server/webhooks/sign.ts";
import { createReachable } from "../factories/mails.ts";
import type { TestPerson } from "../factories/people.ts";
import { expectErrorBody, issuePaths } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const secret = "a secret of the tests";
const service = useService({ settings: { mailEventsSecret: secret } });
const silent = useService();

interface Report {
  url?: string;
  signedWith?: string;
  signedAt?: Date;
}

async function report(body: string, { url = service.url, signedWith = secret, signedAt = new Date() }: Report = {}) {
  const headers = { "X-Service-Signature": signatureOf(Buffer.from(body), signedWith, signedAt) };
  const response = await fetch(`${url}/mail/events`, { method: "POST", body, headers });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}
const eventsOf = (...events: object[]) => JSON.stringify({ events });
const verifiedAt = async ({ id }: TestPerson) => {
  const [row] = await service.services.database.query<{ at: string | null }>(sql`
    SELECT email_verified_at AS at FROM users WHERE id = ${id}::uuid`);
  return row?.at ?? null;
};

test("a bounce or a complaint stops mails to the address, however it is written, until it is verified again", async () => {
  const [bounced, complained, other] = await Promise.all([1, 2, 3].map(() => createReachable(service)));
  if (!bounced || !complained || !other) throw new Error("nobody is there");
  const body = eventsOf(
    { type: "bounce", email: bounced.email.toUpperCase() },
    { type: "complaint", email: complained.email },
    { type: "bounce", email: "nobody@example.com" },
    { type: "bounce", email: "no address" },
  );
  for (let time = 0; time < 2; time++) expect(await report(body)).toEqual({ status: 204, body: null });
  expect([await verifiedAt(bounced), await verifiedAt(complained)]).toEqual([null, null]);
  expect(await verifiedAt(other)).not.toBeNull();
  expect((await bounced.get("/auth/me")).body.user.emailVerifiedAt).toBeNull();
});

test("without the right signature of the last five minutes nothing is taken, and without a secret nothing at all", async () => {
  const person = await createReachable(service);
  const body = eventsOf({ type: "bounce", email: person.email });
  const late = new Date(Date.now() - 301_000);
  const refused = [
    await report(body, { signedWith: "another secret" }),
    await report(body, { signedAt: late }),
    await report(body, { url: silent.url }),
    await fetch(`${service.url}/mail/events`, { method: "POST", body }).then(async (answer) => ({
      status: answer.status,
      body: JSON.parse(await answer.text()),
    })),
  ];
  for (const answer of refused) {
    expectErrorBody(answer.body, "unauthenticated");
    expect(answer.status).toBe(401);
  }
  expect(await verifiedAt(person)).not.toBeNull();
});

test("what is no report is `invalid_input`, and changes nothing", async () => {
  const person = await createReachable(service);
  const wrong = [{ type: "sneeze", email: person.email }, { type: "bounce" }, { type: "bounce", email: 5 }];
  for (const event of wrong) {
    const { status, body } = await report(eventsOf({ type: "bounce", email: person.email }, event));
    expect([status, issuePaths(body)[0]]).toMatchObject([400, expect.stringMatching(/^events\.1\./)]);
  }
  for (const text of ["", "no json", "[]", "{}"]) expectErrorBody((await report(text)).body, "invalid_input");
  expect(await verifiedAt(person)).not.toBeNull();
  expect((await fetch(`${service.url}/mail/events`)).status).toBe(405);
});
