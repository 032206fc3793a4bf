import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { sweepPart } from "../../../server/market/uploads/sweep.ts";
import { sql } from "../../../server/store/connection.ts";
import { addBriefFile, putShared } from "../../factories/conversation.ts";
import { createModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { disputeReason, placeBid, postTask, upload } from "../../factories/tasks.ts";
import { rest } from "../../setup/client.ts";
import { useService } from "../../setup/testService.ts";
import { storeHasChecksums } from "../../setup/testStore.ts";

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;
let stranger: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 10_000_000 });
  bidder = await createPerson(service);
  stranger = await createPerson(service);
});

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const fileHashOf = (text: string) => (storeHasChecksums ? hashOf(text) : null);
const filesOf = async (person: TestPerson, taskId: string) => (await person.get(`/tasks/${taskId}`)).body.files;
const finalize = (taskId: string, storageKey: string) => buyer.post(`/tasks/${taskId}/files/finalize`, { storageKey });
const run = (statement: ReturnType<typeof sql>) => service.services.database.query(statement);

/** What the trigger has added up, and what it should have. */
async function totalsOf(person: TestPerson) {
  const [totals] = await service.services.database.query<{ bytes: number; open: number }>(sql`
    SELECT bytes, open FROM file_totals WHERE user_id = ${person.id}::uuid`);
  const [counted] = await service.services.database.query<{ bytes: number; open: number }>(sql`
    SELECT coalesce(sum(bytes), 0)::bigint AS bytes, count(*) FILTER (WHERE NOT finished)::int AS open FROM uploads
    WHERE owner_id = ${person.id}::uuid AND kind IN ('brief', 'message') AND refusal IS NULL`);
  expect(totals).toEqual(counted);
  return totals;
}

test("whoever is signed in downloads a public file; one for the award is for the buyer and the awarded bidder", async () => {
  const task = await postTask(buyer);
  const open = await addBriefFile(buyer, task.id, "Two pages.", { fileName: "pages.txt" });
  expect(open).toEqual({
    ...{
      id: expect.any(String),
      fileName: "pages.txt",
      mimeType: "text/plain",
      detectedMimeType: "text/plain",
      bytes: 10,
    },
    ...{ sha256: fileHashOf("Two pages."), visibility: "public", createdAt: expect.stringMatching(/\.\d{6}Z$/) },
    downloadUrl: expect.any(String),
  });
  const secret = await addBriefFile(buyer, task.id, "The password.", { visibility: "awarded" });
  const { id: bidId } = await placeBid(bidder, task.id);
  const seenBy = async (person: TestPerson) =>
    Promise.all(
      (await filesOf(person, task.id)).map(async ({ id, bytes, sha256, downloadUrl }: typeof open) => [
        ...[id, bytes, sha256],
        downloadUrl === undefined ? null : await (await fetch(downloadUrl)).text(),
      ]),
    );
  const all = [
    [open.id, 10, fileHashOf("Two pages."), "Two pages."],
    [secret.id, 13, fileHashOf("The password."), "The password."],
  ];
  const hidden = [all[0], [secret.id, 13, null, null]];
  expect([await seenBy(buyer), await seenBy(bidder), await seenBy(stranger)]).toEqual([all, hidden, hidden]);
  await buyer.post(`/tasks/${task.id}/award`, { bidId });
  expect([await seenBy(buyer), await seenBy(bidder), await seenBy(stranger)]).toEqual([all, all, hidden]);
  const { body } = await rest(service.url, "GET", `/tasks/${task.id}`);
  expect(Object.keys(body).toSorted()).toEqual(["fileCount", "questionCount", "task"]);
  expect(body.fileCount).toBe(2);
});

test("adding and deleting a file tells the active bidders that the brief has changed", async () => {
  const task = await postTask(buyer);
  const bid = await placeBid(bidder, task.id);
  const editedAt = async () => (await bidder.get(`/bids/${bid.id}`)).body.bid.taskEditedAt;
  expect(await editedAt()).toBeNull();
  const { id } = await addBriefFile(buyer, task.id);
  const added = await editedAt();
  expect(added).toMatch(/Z$/);
  expect((await buyer.delete(`/tasks/${task.id}/files/${id}`)).status).toBe(204);
  expect((await editedAt()) > added).toBe(true);
  expect((await buyer.delete(`/tasks/${task.id}/files/${id}`)).body.error).toBe("not_found");
  const { events } = (await bidder.get("/events?types=task.updated")).body;
  expect(events.filter((event: { data: { task: { id: string } } }) => event.data.task.id === task.id)).toHaveLength(2);
});

test("once a file is deleted or the task is awarded, its key is never finalised again, and the bytes go within a day", async () => {
  const task = await postTask(buyer);
  const { storageKey, uploadUrl } = await putShared(buyer, `/tasks/${task.id}`);
  const late = await putShared(buyer, `/tasks/${task.id}`);
  const { file } = (await finalize(task.id, storageKey)).body;
  expect((await finalize(task.id, storageKey)).body.file.id).toBe(file.id);
  await buyer.delete(`/tasks/${task.id}/files/${file.id}`);
  await fetch(uploadUrl, { method: "PUT", headers: { "content-type": "text/plain" }, body: "Two pages." });
  for (let attempt = 0; attempt < 2; attempt++) {
    const { status, body } = await finalize(task.id, storageKey);
    expect([status, body.error, body.issues[0].path]).toEqual([400, "invalid_input", "storageKey"]);
  }
  const [row] = await service.services.database.query<{ sealedKey: string }>(sql`
    SELECT sealed_key AS "sealedKey" FROM uploads WHERE storage_key = ${storageKey}`);
  const { id: bidId } = await placeBid(bidder, task.id);
  await buyer.post(`/tasks/${task.id}/award`, { bidId });
  for (const key of [storageKey, late.storageKey]) {
    expect((await finalize(task.id, key)).body.error).toBe("wrong_status");
  }
  expect((await buyer.post(`/tasks/${task.id}/files/init`, { mimeType: "text/plain", bytes: 1 })).body.error).toBe(
    "wrong_status",
  );
  const { storage } = service.services;
  expect(await storage.head(row?.sealedKey ?? "")).not.toBeNull();
  await run(sql`UPDATE uploads SET created_at = created_at - interval '25 hours' WHERE owner_id = ${buyer.id}::uuid`);
  for (let next: Parameters<typeof sweepPart>[1] | null = {}; next !== null; )
    next = await sweepPart(service.services, next, 1_000);
  expect(await storage.head(row?.sealedKey ?? "")).toBeNull();
  expect(await run(sql`SELECT 1 FROM uploads WHERE storage_key IN (${storageKey}, ${late.storageKey})`)).toEqual([]);
  expect((await totalsOf(buyer))?.open).toBe(0);
});

describe("limits", () => {
  test("100 MB a file, judged before anything else, and another's key is refused", async () => {
    const { id } = await postTask(buyer);
    const init = (person: TestPerson, body: object) => person.post(`/tasks/${id}/files/init`, body);
    const tooLarge = await init(stranger, { mimeType: "video/mp4", bytes: 100_000_001 });
    expect([tooLarge.status, tooLarge.body.error, tooLarge.body.violations]).toEqual([
      ...[400, "file_too_large"],
      [{ field: "bytes", limit: 100_000_000, actual: 100_000_001 }],
    ]);
    expect((await init(stranger, { mimeType: "video/mp4", bytes: 1 })).body.error).toBe("forbidden");
    expect((await init(buyer, { mimeType: "text/plain", bytes: 1, visibility: "all" })).body.error).toBe(
      "invalid_input",
    );
    const other = await putShared(buyer, `/tasks/${(await postTask(buyer)).id}`);
    for (const key of [other.storageKey, `briefs/${id}/${crypto.randomUUID()}`]) {
      expect((await finalize(id, key)).body.issues[0].path).toBe("storageKey");
    }
  });

  test("20 files a task, also when all are finalised at once, and no copy is made of the others", async () => {
    const { id } = await postTask(buyer);
    const keys: string[] = [];
    for (let count = 0; count < 18; count++) await addBriefFile(buyer, id);
    for (let count = 0; count < 5; count++) keys.push((await putShared(buyer, `/tasks/${id}`)).storageKey);
    const answers = await Promise.all(keys.map((key) => finalize(id, key)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 409, 409, 409]);
    const copying = vi.spyOn(service.services.storage, "seal");
    for (const [index, { status }] of answers.entries()) {
      if (status === 201) continue;
      const { body } = await finalize(id, keys[index] ?? "");
      expect([body.error, body.limit]).toEqual(["limit_reached", 20]);
    }
    expect((await buyer.post(`/tasks/${id}/files/init`, { mimeType: "text/plain", bytes: 1 })).body.limit).toBe(20);
    expect(copying).not.toHaveBeenCalled();
    copying.mockRestore();
    expect((await buyer.get(`/tasks/${id}`)).body.fileCount).toBe(20);
  });

  test("20 open uploads and 10 GB a user, exactly, however many are asked for at once", async () => {
    const owner = await createPerson(service, { cents: 1_000_000 });
    const { id } = await postTask(owner);
    const init = (bytes: number) => owner.post(`/tasks/${id}/files/init`, { mimeType: "text/plain", bytes });
    const answers = await Promise.all(Array.from({ length: 30 }, () => init(100)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    expect((await init(1)).body).toMatchObject({ error: "limit_reached", limit: 20 });
    expect(await totalsOf(owner)).toEqual({ bytes: 2_000, open: 20 });
    // As if the rest of 10 GB had been finalised.
    await run(sql`
      INSERT INTO uploads (storage_key, task_id, owner_id, kind, mime_type, bytes, visibility, finished)
      SELECT 'briefs/full/' || n, ${id}::uuid, ${owner.id}::uuid, 'brief', 'text/plain', 99999980, 'public', true
      FROM generate_series(1, 100) n`);
    await run(sql`DELETE FROM uploads WHERE owner_id = ${owner.id}::uuid AND NOT finished`);
    expect(await totalsOf(owner)).toEqual({ bytes: 9_999_998_000, open: 0 });
    const last = await Promise.all([init(1_500), init(1_500)]);
    expect(last.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(last.find(({ status }) => status === 409)?.body).toMatchObject({
      error: "limit_reached",
      violations: [{ field: "bytes", limit: 10_000_000_000, actual: 10_000_001_000 }],
    });
    expect((await init(500)).status).toBe(200);
    expect((await init(1)).body.error).toBe("limit_reached");
    expect((await totalsOf(owner))?.bytes).toBe(10_000_000_000);
  });
});

test("the award freezes the brief with its hashes: a dispute shows it, and the database refuses every change", async () => {
  const texts = { acceptanceCriteria: 'Plain "Finnish" – ä\n', description: "Two pages. 🐧\u0001", title: "Translate" };
  const task = await postTask(buyer, texts);
  const file = await addBriefFile(buyer, task.id, "Two pages.");
  const secret = await addBriefFile(buyer, task.id, "The password.", { visibility: "awarded" });
  const { id: bidId } = await placeBid(bidder, task.id);
  await buyer.post(`/tasks/${task.id}/award`, { bidId });
  expect((await buyer.delete(`/tasks/${task.id}/files/${file.id}`)).body.error).toBe("wrong_status");
  for (const change of [
    sql`UPDATE tasks SET title = 'Another' WHERE id = ${task.id}::uuid`,
    sql`UPDATE tasks SET acceptance_criteria = NULL WHERE id = ${task.id}::uuid`,
    sql`DELETE FROM artifacts WHERE id = ${file.id}::uuid`,
    sql`UPDATE artifacts SET sha256 = NULL WHERE id = ${file.id}::uuid`,
  ]) {
    await expect(run(change)).rejects.toThrow("frozen");
  }
  const storageKey = await upload(bidder, bidId, "delivery");
  await bidder.post(`/bids/${bidId}/delivery/finalize`, { storageKey });
  const { dispute } = (await buyer.post(`/tasks/${task.id}/dispute`, { reason: disputeReason })).body;
  for (const person of [await createModerator(service), buyer, bidder]) {
    const { brief } = (await person.get(`/disputes/${dispute.id}`)).body;
    expect(brief).toMatchObject(texts);
    expect(brief.sha256).toBe(
      hashOf(
        `{"acceptanceCriteria":"Plain \\"Finnish\\" – ä\\n","description":"Two pages. 🐧\\u0001","title":"Translate"}`,
      ),
    );
    expect(brief.files.map(({ id, sha256 }: typeof file) => [id, sha256])).toEqual([
      [file.id, fileHashOf("Two pages.")],
      [secret.id, fileHashOf("The password.")],
    ]);
    expect(await (await fetch(brief.files[1].downloadUrl)).text()).toBe("The password.");
  }
});

test("an award and a last file at the same moment: the file is in the brief before it, or not at all", async () => {
  for (let round = 0; round < 5; round++) {
    const task = await postTask(buyer);
    const { id: bidId } = await placeBid(bidder, task.id);
    const { storageKey } = await putShared(buyer, `/tasks/${task.id}`);
    const [added, awarded] = await Promise.all([
      finalize(task.id, storageKey),
      buyer.post(`/tasks/${task.id}/award`, { bidId }),
    ]);
    expect(awarded.status).toBe(200);
    expect([201, 409]).toContain(added.status);
    expect(await filesOf(bidder, task.id)).toHaveLength(added.status === 201 ? 1 : 0);
  }
});

test("an export has the files that one uploaded", async () => {
  const { id } = await postTask(buyer);
  const file = await addBriefFile(buyer, id);
  let files: unknown[] = [];
  for (let after = ""; ; ) {
    const { body } = await buyer.get(`/auth/export${after}`);
    files = [...files, ...body.sharedFiles];
    if (body.nextPart === null) break;
    after = `?after=${encodeURIComponent(body.nextPart)}`;
  }
  expect(files).toContainEqual(
    expect.objectContaining({ id: file.id, kind: "brief", taskId: id, sha256: file.sha256 }),
  );
});
