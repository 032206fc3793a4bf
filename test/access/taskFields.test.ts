import { beforeAll, describe, expect, test } from "vitest";
import { addBriefFile } from "../factories/conversation.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { disputeReason, placeBid, postTask, upload } from "../factories/tasks.ts";
import { type Credentials, rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

/** Returns the paths of all fields in a response, with arrays as `[]`. */
function fieldsOf(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOf(item, `${path}[]`));
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, inner]) => fieldsOf(inner, path === "" ? key : `${path}.${key}`));
}
const sorted = (fields: Iterable<string>) => [...new Set(fields)].sort();
const under = (prefix: string, fields: string) => fields.split(" ").map((field) => `${prefix}.${field}`);

const LIST_ITEM = "id title maxBudgetCents status createdAt bidCount tags[]";
const FILE = "id fileName mimeType detectedMimeType bytes sha256 visibility createdAt downloadUrl";
const TASK =
  `${LIST_ITEM} description acceptanceCriteria buyer.id buyer.displayName awardedBidId awardedAt deliveryDueAt
  deliveredAt acceptanceDeadlineAt revisions revisionsUsed acceptOnChecks acceptedAt closedAt closedBecause updatedAt`.replaceAll(
    /\s+/g,
    " ",
  );
const BID = "id taskId bidder.id bidder.displayName priceCents etaHours notes status createdAt updatedAt taskEditedAt";
const ARTIFACT = "id bidId taskId mimeType detectedMimeType bytes sha256 createdAt downloadUrl";
const DISPUTE = "id taskId openedBy reason status resolution buyerCents bidderCents note createdAt resolvedAt";
const RATING = "id taskId raterId rateeId role stars comment createdAt";

const counts = ["fileCount", "questionCount"];
const publicFields = [...under("task", `${LIST_ITEM} description`), ...counts];
const taskFields = [...under("task", TASK), ...counts, ...under("files[]", FILE)];
const bidFields = under("bids[]", BID);
const artifactFields = [...under("samples[]", ARTIFACT), ...under("deliveries[]", `${ARTIFACT} supersededAt`)];
const partyFields = under("task", "changes acceptsAt acceptedBy");
const disputeFields = under("dispute", DISPUTE);
const ratingFields = under("ratings[]", RATING);

const viewers = [
  "anonymous",
  "signed in",
  "bidder",
  "awarded bidder",
  "buyer",
  "moderator",
  "moderator's key",
] as const;
type Viewer = (typeof viewers)[number];
let people: Record<"buyer" | "awarded" | "bidder" | "stranger" | "moderator", TestPerson>;
let credentials: Record<Viewer, Credentials>;
const secrets: { text: string; mayBeSeenBy: readonly Viewer[] }[] = [];
const tasks: Record<"open" | "accepted" | "resolved", string> = { open: "", accepted: "", resolved: "" };

async function play(last: "open" | "accepted" | "resolved"): Promise<string> {
  const { buyer, awarded, bidder, moderator } = people;
  const task = await postTask(buyer, { acceptanceCriteria: `criteria of ${last}` });
  await addBriefFile(buyer, task.id);
  const notes = { winner: `winning note ${last}`, loser: `losing note ${last}` };
  secrets.push({ text: `criteria of ${last}`, mayBeSeenBy: viewers.filter((viewer) => viewer !== "anonymous") });
  secrets.push({ text: notes.winner, mayBeSeenBy: ["buyer", "awarded bidder"] });
  secrets.push({ text: notes.loser, mayBeSeenBy: ["buyer", "bidder"] });
  const bid = await placeBid(awarded, task.id, { notes: notes.winner });
  await placeBid(bidder, task.id, { notes: notes.loser });
  if (last === "open") return task.id;

  await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
  for (const kind of ["sample", "delivery"] as const) {
    const storageKey = await upload(awarded, bid.id, kind);
    await awarded.post(`/bids/${bid.id}/${kind}/finalize`, { storageKey });
  }
  const parties = ["buyer", "awarded bidder"] as const;
  if (last === "accepted") await buyer.post(`/tasks/${task.id}/accept`);
  else {
    const reason = `${disputeReason} ${last}`;
    const { dispute } = (await buyer.post(`/tasks/${task.id}/dispute`, { reason })).body;
    await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "refund", note: "a word of the moderator" });
    secrets.push({ text: reason, mayBeSeenBy: [...parties, "moderator"] });
    secrets.push({ text: "a word of the moderator", mayBeSeenBy: [...parties, "moderator"] });
  }
  await buyer.post(`/tasks/${task.id}/rate`, { stars: 4, comment: `a comment on ${last}` });
  secrets.push({
    text: `a comment on ${last}`,
    mayBeSeenBy: last === "resolved" ? [...parties, "moderator"] : parties,
  });
  return task.id;
}

beforeAll(async () => {
  people = {
    buyer: await createPerson(service, { cents: 1_000_000 }),
    awarded: await createPerson(service),
    bidder: await createPerson(service),
    stranger: await createPerson(service),
    moderator: await createModerator(service),
  };
  credentials = {
    anonymous: {},
    "signed in": people.stranger.key,
    bidder: people.bidder.session,
    "awarded bidder": people.awarded.session,
    buyer: people.buyer.key,
    moderator: people.moderator.session,
    "moderator's key": people.moderator.key,
  };
  for (const person of Object.values(people)) {
    secrets.push({ text: person.email, mayBeSeenBy: [] }, { text: person.password, mayBeSeenBy: [] });
  }
  for (const last of ["open", "accepted", "resolved"] as const) tasks[last] = await play(last);
});

const seenInDispute = [...taskFields, ...artifactFields, ...ratingFields];
const full = [...seenInDispute, ...partyFields];
/** All fields that GET /tasks/{id} shows, for each kind of viewer and three tasks: with bids, accepted, resolved. */
const expected: Record<Viewer, Record<keyof typeof tasks, string[]>> = {
  anonymous: { open: publicFields, accepted: publicFields, resolved: publicFields },
  "signed in": { open: taskFields, accepted: taskFields, resolved: taskFields },
  bidder: {
    open: [...taskFields, ...bidFields],
    accepted: [...taskFields, ...bidFields],
    resolved: [...taskFields, ...bidFields],
  },
  "awarded bidder": {
    open: [...taskFields, ...bidFields],
    accepted: [...full, ...bidFields],
    resolved: [...full, ...bidFields, ...disputeFields],
  },
  buyer: {
    open: [...taskFields, ...partyFields, ...bidFields],
    accepted: [...full, ...bidFields],
    resolved: [...full, ...bidFields, ...disputeFields],
  },
  moderator: { open: taskFields, accepted: taskFields, resolved: [...seenInDispute, ...disputeFields] },
  "moderator's key": { open: taskFields, accepted: taskFields, resolved: taskFields },
};

describe.each(viewers)("%s", (viewer) => {
  const get = (path: string) => rest(service.url, "GET", path, { credentials: credentials[viewer] });

  test.each(["open", "accepted", "resolved"] as const)(
    "sees exactly the decided fields of a task that is %s",
    async (last) => {
      const answer = await get(`/tasks/${tasks[last]}`);
      expect(answer.status).toBe(200);
      const { availableActions, ...records } = answer.body;
      expect(sorted(fieldsOf(records))).toEqual(sorted(expected[viewer][last]));
      expect(Array.isArray(availableActions)).toBe(viewer !== "anonymous");
    },
  );

  test("sees no secrets in any response", async () => {
    const ids = Object.values(tasks);
    const paths = [
      "/tasks?status=open,accepted,resolved,awarded&limit=100",
      "/me/tasks",
      "/bids",
      "/disputes",
      ...ids.flatMap((id) => [`/tasks/${id}`, `/tasks/${id}/bids`]),
      ...Object.values(people).map(({ id }) => `/users/${id}/reputation`),
    ];
    const mayReadDisputes: readonly Viewer[] = ["buyer", "awarded bidder", "moderator"];
    for (const path of paths) {
      const { text } = await get(path);
      for (const secret of secrets) {
        // Those who may read a dispute also see its task and the awarded bid.
        const shownInCase = path === "/disputes" && mayReadDisputes.includes(viewer);
        if (secret.mayBeSeenBy.includes(viewer) || (shownInCase && secret.text.startsWith("winning note"))) continue;
        expect(text, `${path} for ${viewer}`).not.toContain(secret.text);
      }
      expect(text).not.toMatch(
        /passwordHash|password_hash|storageKey|storage_key|keyHash|awardedBidderId|resolvedBy|resolved_by/,
      );
    }
  });
});

describe("GET /me/tasks", () => {
  const idsOf = (answer: { body: { tasks: { id: string }[] } }) => answer.body.tasks.map(({ id }) => id);

  test("returns the tasks that the caller posted or was awarded, newest first, by role and status", async () => {
    const { buyer, awarded, bidder } = people;
    expect(idsOf(await buyer.get("/me/tasks"))).toEqual([tasks.resolved, tasks.accepted, tasks.open]);
    expect(idsOf(await awarded.get("/me/tasks"))).toEqual([tasks.resolved, tasks.accepted]);
    expect(idsOf(await bidder.get("/me/tasks"))).toEqual([]);
    expect(idsOf(await buyer.get("/me/tasks?role=bidder"))).toEqual([]);
    expect(idsOf(await buyer.get("/me/tasks?role=buyer&status=open,resolved"))).toEqual([tasks.resolved, tasks.open]);
    expect(idsOf(await awarded.get("/me/tasks?role=bidder&status=accepted"))).toEqual([tasks.accepted]);
    expect((await buyer.get("/me/tasks?role=seller")).status).toBe(400);
    expect((await rest(service.url, "GET", "/me/tasks")).status).toBe(401);
  });

  test("a walk over both roles misses nothing and repeats nothing", async () => {
    const both = await createPerson(service, { cents: 1_000_000 });
    const all: string[] = [];
    for (let index = 0; index < 6; index++) {
      const mine = await postTask(both);
      const theirs = await postTask(people.buyer);
      const bid = await placeBid(both, theirs.id);
      await people.buyer.post(`/tasks/${theirs.id}/award`, { bidId: bid.id });
      all.unshift(theirs.id, mine.id);
    }
    const walked: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await both.get(`/me/tasks?limit=5${cursor && `&cursor=${cursor}`}`);
      walked.push(...idsOf(page));
      cursor = page.body.nextCursor;
    }
    expect(walked).toEqual(all);
  });
});
