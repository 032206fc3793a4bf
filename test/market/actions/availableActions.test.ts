import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { expireTask } from "../../../server/market/tasks/expireTask.ts";
import { takesDryRun } from "../../../server/meta.ts";
import { scopes } from "../../../server/schemas/scope.ts";
import { type TaskOperation, taskOperations } from "../../../server/schemas/taskOperation.ts";
import { sql } from "../../../server/store/connection.ts";
import { externalCheck, type ReportingKey, reportingKey } from "../../factories/checks.ts";
import { addBriefFile } from "../../factories/conversation.ts";
import { createModerator, makeModerator } from "../../factories/moderators.ts";
import { createKey, createPerson, type TestPerson } from "../../factories/people.ts";
import { disputeReason, placeBid, postTask, upload } from "../../factories/tasks.ts";
import { type Credentials, rest } from "../../setup/client.ts";
import { callOverRest, type Input, routeOf, routes, transports } from "../../setup/operations.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
const run = (statement: ReturnType<typeof sql>) => service.services.database.query(statement);

/** Who looks at a task. All but the stranger and the moderator have bid on it, as far as its state lets them. */
const actors = ["buyer", "bidder", "loser", "leaver", "stranger", "moderator", "biddingModerator"] as const;
type Actor = (typeof actors)[number];
interface Looker extends TestPerson {
  /** Every kind of credentials, by what it allows. */
  credentials: Record<string, Credentials>;
}
const people = {} as Record<Actor, Looker>;
/** The buyer's key that reports, where nothing else is said. */
let named: ReportingKey;

async function withKeys(person: TestPerson): Promise<Looker> {
  const { url } = service;
  const credentials = {
    session: person.session,
    "key of all scopes": person.key,
    "key of task:write": await createKey(url, person.session, ["task:write"]),
    "key of bid:write": await createKey(url, person.session, ["bid:write"]),
    "key of message:write": await createKey(url, person.session, ["message:write"]),
    "key of agreement:write": await createKey(url, person.session, ["agreement:write"]),
    "key of check:write": await createKey(url, person.session, ["check:write"]),
    "key of nothing": await createKey(url, person.session, []),
  };
  return { ...person, credentials };
}

beforeAll(async () => {
  for (const actor of actors) {
    const person =
      actor === "moderator" ? await createModerator(service) : await createPerson(service, { cents: 1_000_000 });
    if (actor === "biddingModerator") await makeModerator(service, person);
    people[actor] = await withKeys(person);
  }
  named = await reportingKey(service, people.buyer);
  people.buyer.credentials["key that a check names"] = named.credentials;
});

// The walks start uploads that nobody finishes, and a user may have 20 of them.
beforeEach(() => run(sql`DELETE FROM uploads WHERE kind IN ('brief', 'message') AND NOT finished`));

/** A task with the ids that its operations need. */
interface Scene {
  taskId: string;
  bids: Partial<Record<Actor, string>>;
  disputeId?: string;
  agreementId?: string;
  questionId?: string;
  fileId?: string;
  suspendedBid?: string;
  deliveryId?: string;
}

async function open(key = named): Promise<Scene> {
  const checks = [externalCheck(key.id)];
  return { taskId: (await postTask(people.buyer, { revisions: 1, checks })).id, bids: {} };
}
async function withBids(key = named): Promise<Scene> {
  const scene = await open(key);
  for (const actor of ["bidder", "loser", "leaver", "biddingModerator"] as const) {
    scene.bids[actor] = (await placeBid(people[actor], scene.taskId)).id;
  }
  await ok(people.leaver.post(`/bids/${scene.bids.leaver}/withdraw`));
  const { question } = await ok(people.loser.post(`/tasks/${scene.taskId}/questions`, { text: "How many words?" }));
  scene.questionId = question.id;
  scene.fileId = (await addBriefFile(people.buyer, scene.taskId)).id;
  return scene;
}
async function ok(answer: ReturnType<TestPerson["post"]>) {
  const { status, text, body } = await answer;
  if (status >= 300) throw new Error(`${status}: ${text}`);
  return body;
}
async function awarded(key = named): Promise<Scene> {
  const scene = await withBids(key);
  await ok(people.buyer.post(`/tasks/${scene.taskId}/award`, { bidId: scene.bids.bidder }));
  return scene;
}
async function overdue(): Promise<Scene> {
  const scene = await awarded();
  await run(sql`UPDATE tasks SET delivery_due_at = now() - interval '8 days' WHERE id = ${scene.taskId}::uuid`);
  return scene;
}
async function delivered(key = named): Promise<Scene> {
  const scene = await awarded(key);
  const storageKey = await upload(people.bidder, scene.bids.bidder ?? "", "delivery");
  const { delivery } = await ok(people.bidder.post(`/bids/${scene.bids.bidder}/delivery/finalize`, { storageKey }));
  return { ...scene, deliveryId: delivery.id };
}
/** A scene whose check names a key that has been revoked since. */
async function keyEnded(build: (key: ReportingKey) => Promise<Scene>): Promise<Scene> {
  const ending = await reportingKey(service, people.buyer);
  const scene = await build(ending);
  await ok(people.buyer.delete(`/keys/${ending.id}`));
  return scene;
}
async function inRound(): Promise<Scene> {
  const scene = await delivered();
  await ok(people.buyer.post(`/tasks/${scene.taskId}/request-changes`, { reason: disputeReason }));
  return scene;
}
async function accepted(): Promise<Scene> {
  const scene = await delivered();
  await ok(people.buyer.post(`/tasks/${scene.taskId}/accept`));
  return scene;
}
async function disputed(): Promise<Scene> {
  const scene = await delivered();
  const { dispute } = await ok(people.buyer.post(`/tasks/${scene.taskId}/dispute`, { reason: disputeReason }));
  return { ...scene, disputeId: dispute.id };
}

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
async function proposed(built: Promise<Scene>, by: "buyer" | "bidder", proposal: object): Promise<Scene> {
  const scene = await built;
  const body = { reason: disputeReason, ...proposal };
  const { agreement } = await ok(people[by].post(`/tasks/${scene.taskId}/agreements`, body));
  return { ...scene, agreementId: agreement.id };
}

const states: Record<string, () => Promise<Scene>> = {
  open: () => open(),
  "open, with bids": () => withBids(),
  "awarded, with a check whose key has ended": () => keyEnded(awarded),
  "delivered, with a check whose key has ended": () => keyEnded(delivered),
  "open, with the bid of a suspended bidder only": async () => {
    const scene = await open();
    const suspended = await createPerson(service);
    scene.suspendedBid = (await placeBid(suspended, scene.taskId)).id;
    await run(sql`UPDATE users SET suspended_at = now() WHERE id = ${suspended.id}::uuid`);
    return scene;
  },
  cancelled: async () => {
    const scene = await withBids();
    await ok(people.buyer.post(`/tasks/${scene.taskId}/cancel`));
    return scene;
  },
  awarded: () => awarded(),
  "awarded, out of time": overdue,
  expired: async () => {
    const scene = await overdue();
    await expireTask(service.services, { taskId: scene.taskId });
    return scene;
  },
  delivered: () => delivered(),
  "delivered, after the window": async () => {
    const scene = await delivered();
    await run(sql`UPDATE tasks SET acceptance_deadline_at = now() WHERE id = ${scene.taskId}::uuid`);
    return scene;
  },
  "delivered, with no revisions left": async () => {
    const scene = await inRound();
    await ok(people.bidder.post(`/tasks/${scene.taskId}/decline-changes`, { reason: disputeReason }));
    return scene;
  },
  "in a round of changes": inRound,
  "in a round of changes, out of time": async () => {
    const scene = await inRound();
    await run(sql`UPDATE tasks SET delivery_due_at = now() - interval '1 second' WHERE id = ${scene.taskId}::uuid`);
    return scene;
  },
  "awarded, with a proposal of the bidder": () => proposed(awarded(), "bidder", { kind: "cancel" }),
  "in a round of changes, with a proposal of the buyer": () =>
    proposed(inRound(), "buyer", { kind: "extend", deliveryDueAt: inDays(30) }),
  "delivered, with a proposal that has lapsed": async () => {
    const scene = await proposed(delivered(), "buyer", { kind: "cancel" });
    await run(
      sql`UPDATE agreements SET expires_at = now() - interval '1 second' WHERE id = ${scene.agreementId}::uuid`,
    );
    return scene;
  },
  "disputed, with a proposal of the bidder": () =>
    proposed(disputed(), "bidder", { kind: "settle", bidderCents: 1_000 }),
  settled: async () => {
    const scene = await proposed(delivered(), "bidder", { kind: "settle", bidderCents: 1_000 });
    await ok(people.buyer.post(`/agreements/${scene.agreementId}/accept`));
    return scene;
  },
  "given back": async () => {
    const scene = await awarded();
    await ok(people.bidder.post(`/bids/${scene.bids.bidder}/give-back`, { reason: disputeReason }));
    return scene;
  },
  accepted,
  "accepted, rated by the buyer": async () => {
    const scene = await accepted();
    await ok(people.buyer.post(`/tasks/${scene.taskId}/rate`, { stars: 5 }));
    return scene;
  },
  disputed,
  resolved: async () => {
    const scene = await disputed();
    await ok(people.moderator.post(`/disputes/${scene.disputeId}/resolve`, { resolution: "refund" }));
    return scene;
  },
};

/** An input with which the operation succeeds if the caller's role, scopes and the status allow it. */
function inputOf(
  operation: TaskOperation,
  { taskId, bids, disputeId, questionId, agreementId, fileId, suspendedBid, deliveryId }: Scene,
  actor: Actor,
): Input {
  const anyBid = bids.bidder ?? crypto.randomUUID();
  const bid = { id: bids[actor] ?? anyBid };
  const talk = { id: bids[actor] ?? bids.bidder ?? suspendedBid ?? crypto.randomUUID() };
  const task = { id: taskId };
  const agreement = { id: agreementId ?? crypto.randomUUID() };
  const inputs: Record<TaskOperation, Input> = {
    "tasks.update": { ...task, title: "Another title" },
    "tasks.cancel": task,
    "tasks.award": { ...task, bidId: anyBid },
    "tasks.accept": task,
    "tasks.requestChanges": { ...task, reason: "The second page lacks its footnotes." },
    "tasks.declineChanges": { ...task, reason: "The footnotes were not part of the task." },
    "agreements.propose": { ...task, kind: "settle", reason: disputeReason, bidderCents: 1 },
    "agreements.accept": agreement,
    "agreements.decline": agreement,
    "agreements.withdraw": agreement,
    "tasks.dispute": { ...task, reason: disputeReason },
    "tasks.rate": { ...task, stars: 4 },
    "tasks.fileInit": { ...task, mimeType: "text/plain", bytes: 5 },
    "tasks.fileFinalize": { ...task, storageKey: "-" },
    "tasks.removeFile": { ...task, fileId: fileId ?? crypto.randomUUID() },
    "tasks.ask": { ...task, text: "How many pages?" },
    "questions.answer": { id: questionId ?? crypto.randomUUID(), text: "Two." },
    "bids.place": { ...task, priceCents: 1_000, etaHours: 1 },
    "bids.update": { ...bid, priceCents: 900 },
    "bids.withdraw": bid,
    "bids.sampleInit": { ...bid, mimeType: "text/plain", bytes: 5 },
    "bids.sampleFinalize": { ...bid, storageKey: "-" },
    "bids.deliveryInit": { ...bid, mimeType: "text/plain", bytes: 5 },
    "bids.deliveryFinalize": { ...bid, storageKey: "-" },
    "bids.deliveryPreflight": { ...bid, storageKey: "-" },
    "bids.giveBack": { ...bid, reason: disputeReason },
    "messages.send": { ...talk, text: "Hello." },
    "messages.fileInit": { ...talk, mimeType: "text/plain", bytes: 5 },
    "messages.fileFinalize": { ...talk, storageKey: "-" },
    "tasks.setCheckKey": { ...task, name: "Tests", keyId: named.id },
    "deliveries.report": { id: deliveryId ?? crypto.randomUUID(), name: "Tests", conclusion: "passed" },
    "disputes.resolve": { id: disputeId ?? crypto.randomUUID(), resolution: "refund" },
  };
  return inputs[operation];
}

const refusals = [
  ...["forbidden", "missing_scope", "not_found", "wrong_status", "bid_invalid"],
  ...["active_bid_exists", "already_rated", "already_disputed", "no_revisions_left", "agreement_pending"],
];

/** What each kind of key may do. A session may do everything. */
const scopesOf: Record<string, readonly string[]> = {
  "key of all scopes": scopes,
  "key of task:write": ["task:write"],
  "key of bid:write": ["bid:write"],
  "key of message:write": ["message:write"],
  "key of agreement:write": ["agreement:write"],
  "key of check:write": ["check:write"],
  "key that a check names": ["check:write"],
  "key of nothing": [],
};

/** Scopes refuse the same whatever the task, so one state shows it here; test/access/matrix.test.ts has every operation. */
function isScopeRefusal(operation: TaskOperation, kind: string): boolean {
  const { access } = routeOf(operation).meta;
  const held = scopesOf[kind];
  return held !== undefined && !(typeof access === "object" && held.includes(access.scope));
}

/** Whether the operation is let through: tried where it can be, and really where it is one of the steps of an upload. */
async function isLetThrough(operation: TaskOperation, scene: Scene, actor: Actor, credentials: Credentials) {
  const route = routeOf(operation);
  const headers = takesDryRun(route.meta) ? { ...credentials, "dry-run": "true" } : credentials;
  const { status, body } = await callOverRest(service.url, route, inputOf(operation, scene, actor), headers);
  if (status < 300) return true;
  // The key that is not one is judged after role, scope and status, so it tells the same without a file.
  if (/Finalize$|Preflight$/.test(operation) && body.error === "invalid_input") return true;
  expect(refusals).toContain(body.error);
  return false;
}

const look = (taskId: string, credentials: Credentials) =>
  rest(service.url, "GET", `/tasks/${taskId}`, { credentials });

test.each(Object.entries(states))(
  "%s: for every actor and credentials, what is listed works, and nothing else does",
  async (state, build) => {
    const scene = await build();
    const walk = async (actor: Actor) => {
      for (const [name, credentials] of Object.entries(people[actor].credentials)) {
        const { availableActions } = (await look(scene.taskId, credentials)).body;
        const works: TaskOperation[] = [];
        for (const operation of taskOperations) {
          if (state !== "open, with bids" && isScopeRefusal(operation, name)) continue;
          if (await isLetThrough(operation, scene, actor, credentials)) works.push(operation);
        }
        expect([actor, name, availableActions]).toEqual([actor, name, works]);
        expect((await look(scene.taskId, credentials)).body.availableActions).toEqual(availableActions);
      }
    };
    await Promise.all(actors.map(walk));
  },
);

test("the walk meets every operation, and every operation that changes a task or a bid is in the list", () => {
  const acting = routes.filter(
    ({ type, path }) =>
      type === "mutation" &&
      /^\/((tasks|bids|disputes|agreements|deliveries)\/\{id\}|questions\/\{id\}\/)/.test(path) &&
      // The position of a reader.
      !/\/messages\/read$/.test(path),
  );
  expect(acting.map(({ procedurePath }) => procedurePath).sort()).toEqual([...taskOperations].sort());
});

describe("uploads", () => {
  test("are listed until they are really refused: the eleventh sample, and a second delivery", async () => {
    const { taskId, bids } = await awarded();
    const bidId = bids.bidder ?? "";
    const { bidder } = people;
    const finalize = (kind: "sample" | "delivery", storageKey: string) =>
      bidder.post(`/bids/${bidId}/${kind}/finalize`, { storageKey });
    const uploads = async () =>
      (await bidder.get(`/tasks/${taskId}`)).body.availableActions.filter((name: string) =>
        /sample|delivery/.test(name),
      );
    const deliver = ["bids.deliveryInit", "bids.deliveryFinalize", "bids.deliveryPreflight"];
    const eleventh = await upload(bidder, bidId, "sample");
    for (let count = 0; count < 10; count++) {
      expect(await uploads()).toEqual(["bids.sampleInit", "bids.sampleFinalize", ...deliver]);
      expect((await finalize("sample", await upload(bidder, bidId, "sample"))).status).toBe(201);
    }
    expect(await uploads()).toEqual(deliver);
    expect((await finalize("sample", eleventh)).body.error).toBe("sample_too_large");
    const init = await bidder.post(`/bids/${bidId}/sample/init`, { mimeType: "text/plain", bytes: 5 });
    expect(init.body.error).toBe("sample_too_large");
    const second = await upload(bidder, bidId, "delivery");
    expect((await finalize("delivery", await upload(bidder, bidId, "delivery"))).status).toBe(201);
    expect(await uploads()).toEqual([]);
    expect((await finalize("delivery", second)).body.error).toBe("wrong_status");
  });
});

test.each(transports)("anonymous callers are told nothing, over $transport", async ({ call }) => {
  const { taskId } = await open();
  const { body } = await call(service.url, routeOf("tasks.read"), { id: taskId });
  expect(body).toEqual({ task: expect.anything(), fileCount: 0, questionCount: 0 });
  const { availableActions } = (await call(service.url, routeOf("tasks.read"), { id: taskId }, people.buyer.session))
    .body;
  expect(availableActions).toEqual(["tasks.update", "tasks.cancel", "tasks.fileInit", "tasks.fileFinalize"]);
});

test("task, bids and what may be done are from one snapshot, while awards go on", async () => {
  for (let round = 0; round < 5; round++) {
    const { taskId, bids } = await withBids();
    const award = people.buyer.post(`/tasks/${taskId}/award`, { bidId: bids.bidder });
    const reads = Array.from({ length: 10 }, () => look(taskId, people.loser.session));
    for (const { body } of await Promise.all(reads)) {
      const isOpen = body.task.status === "open";
      expect(body.bids[0].status).toBe(isOpen ? "active" : "rejected");
      expect(body.availableActions).toEqual(
        isOpen
          ? ["tasks.ask", "bids.update", "bids.withdraw", "messages.send", "messages.fileInit", "messages.fileFinalize"]
          : [],
      );
    }
    expect((await award).status).toBe(200);
  }
});
