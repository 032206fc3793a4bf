import { expect, test } from "vitest";
import { openCursors } from "../../server/events/cursor.ts";
import { advanceLog } from "../../server/events/log.ts";
import { sql } from "../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const [current, next] = ["a secret of the tests of 32 characters or more", "another secret of 32 characters or more"];

const bytesOf = (uuid: string) => Buffer.from(uuid.replaceAll("-", ""), "hex");

/** A cursor as they were before there were seals: 16 bytes of an epoch, the position, and the event's id. */
function unsealed({ position, eventId }: { position: number; eventId: string | null }): string {
  const bytes = Buffer.concat([bytesOf(crypto.randomUUID()), Buffer.alloc(8), bytesOf(eventId ?? "0".repeat(32))]);
  bytes.writeBigUInt64BE(BigInt(position), 16);
  return bytes.toString("base64url");
}

async function expectRefused(person: TestPerson, cursor: string): Promise<void> {
  const answer = await person.get(`/events?after=${cursor}`);
  expect([answer.status, answer.body.error, answer.body.issues], cursor).toEqual([
    400,
    "invalid_input",
    [{ path: "after", message: "`after` must be the `nextCursor` of an earlier answer, or `latest`." }],
  ]);
}

test("a cursor tells nobody where it is: neither its bytes, nor whether something has happened", async () => {
  const ada = await createPerson(service, { cents: 10_000 });
  await postTask(ada);
  const { position, eventId } = await advanceLog(service.services.database);
  const cursors = await Promise.all(
    Array.from({ length: 20 }, async () => (await ada.get("/events?after=latest")).body.nextCursor as string),
  );
  expect(new Set(cursors).size).toBe(cursors.length);
  for (const cursor of cursors) {
    const bytes = Buffer.from(cursor, "base64url");
    expect(bytes.includes(bytesOf(eventId ?? ""))).toBe(false);
    expect(cursor).toMatch(/^[\w-]{75}$/);
    expect(service.services.eventCursors.decrypt(cursor)).toEqual({ position, eventId });
  }
  // No byte of it is the same in all of them, such as those of the position.
  const first = Buffer.from(cursors[0] ?? "", "base64url");
  const same = first.filter((byte, index) => cursors.every((each) => Buffer.from(each, "base64url")[index] === byte));
  expect([...same]).toEqual([]);
});

test("a cursor that was altered, made up, cut, or sealed by another service is refused as an input", async () => {
  const ada = await createPerson(service);
  const cursor: string = (await ada.get("/events?after=latest")).body.nextCursor;
  const bytes = Buffer.from(cursor, "base64url");
  for (const index of [0, 15, 16, 30, 39, 40, bytes.length - 1]) {
    const altered = Buffer.from(bytes);
    altered[index] = (altered[index] ?? 0) ^ 1;
    await expectRefused(ada, altered.toString("base64url"));
  }
  const place = await advanceLog(service.services.database);
  for (const wrong of [
    ...["nonsense", cursor.slice(0, -1), `${cursor}A`, `${cursor}=`, bytes.toString("base64").replace(/$/, "+")],
    bytes.subarray(0, 40).toString("base64url"),
    openCursors([next]).encrypt(place),
    unsealed({ position: 0, eventId: null }),
    unsealed({ position: 2 ** 60, eventId: crypto.randomUUID() }),
  ]) {
    await expectRefused(ada, wrong.replaceAll("+", "%2B"));
  }
});

test("a cursor survives a new session secret while the old one is kept behind it, and not for longer", () => {
  const place = { position: 7, eventId: crypto.randomUUID() };
  const cursor = openCursors([current]).encrypt(place);
  expect(openCursors([next, current]).decrypt(cursor)).toEqual(place);
  expect(openCursors([current]).decrypt(openCursors([current, next]).encrypt(place))).toEqual(place);
  expect(() => openCursors([next]).decrypt(cursor)).toThrow(expect.objectContaining({ code: "invalid_input" }));
  const beginning = { position: 0, eventId: null };
  expect(openCursors([next]).decrypt(openCursors([next, current]).encrypt(beginning))).toEqual(beginning);
});

test("a cursor without a seal goes on for events from before there were seals, and for no other", async () => {
  const { database } = service.services;
  const ada = await createPerson(service, { cents: 50_000 });
  await postTask(ada);
  const old = await advanceLog(database);
  const task = await postTask(ada);
  const recent = await advanceLog(database);
  for (const place of [old, recent]) await expectRefused(ada, unsealed(place));
  await service.owner.query(sql`UPDATE event_log_state SET unsealed_before = ${recent.eventId}::uuid`);
  const answer = await ada.get(`/events?after=${unsealed(old)}`);
  expect(answer.body.events).toMatchObject([{ data: { task: { id: task.id } } }]);
  expect(service.services.eventCursors.decrypt(answer.body.nextCursor)).toEqual(recent);
  const elsewhere = await ada.get(`/events?after=${unsealed({ ...old, position: old.position + 1 })}`);
  expect([elsewhere.status, elsewhere.body.error]).toEqual([410, "cursor_expired"]);
  await expectRefused(ada, unsealed(recent));
});
