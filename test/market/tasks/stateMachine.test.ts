import { beforeAll, describe, expect, test } from "vitest";
import { readmeWithDiagram } from "../../../openapi/stateDiagram.ts";
import { checkDelivery } from "../../../server/market/checks/checkDelivery.ts";
import { acceptDelivery } from "../../../server/market/tasks/acceptDelivery.ts";
import { endOverdueRound } from "../../../server/market/tasks/endOverdueRound.ts";
import { expireTask } from "../../../server/market/tasks/expireTask.ts";
import { movements } from "../../../server/market/tasks/movements.ts";
import type { TaskRecord } from "../../../server/market/tasks/records.ts";
import { deadlineOf, decideTaskAction, type Moment } from "../../../server/market/tasks/rules.ts";
import {
  type TaskAction,
  type TaskActor,
  type Transition,
  taskActions,
  taskActors,
  taskTransitions,
} from "../../../server/market/tasks/stateMachine.ts";
import { type TaskStatus, taskStatuses } from "../../../server/schemas/task.ts";
import { sql } from "../../../server/store/connection.ts";
import { externalCheck, type ReportingKey, report, reportingKey, sizeCheck } from "../../factories/checks.ts";
import { addBriefFile } from "../../factories/conversation.ts";
import { createModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { disputeReason, placeBid, postTask, upload } from "../../factories/tasks.ts";
import { type Answer, rest } from "../../setup/client.ts";
import { clockOf } from "../../setup/testClock.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
const BUDGET = 10_000;
const PRICE = 7_000;
const SHARE = 2_000;

/**
 * A status, or `round`: an awarded task with an earlier delivery, on which the bidder works again; or `checked`: a delivered
 * task whose checks accept it in an hour.
 */
const situations = [...taskStatuses, "round", "checked"] as const;
type Situation = (typeof situations)[number];
const statusOf = { round: "awarded", checked: "delivered" } as const;
const statusIn = (situation: Situation): TaskStatus =>
  situation === "round" || situation === "checked" ? statusOf[situation] : situation;

/** What must be true, written down apart from the table that the service decides by. Source: docs/contract.md "States". */
interface Allowed {
  by: TaskActor[];
  in: Situation[];
  to?: TaskStatus;
  /** Changes of the buyer's available and held buckets, and of the bidder's available one. */
  money?: [number, number, number];
  event?: string;
}
const allowed: Record<TaskAction, Allowed> = {
  update: { by: ["buyer"], in: ["open"], event: "task.updated" },
  changeFiles: { by: ["buyer"], in: ["open"], event: "task.updated" },
  cancel: {
    by: ["buyer"],
    in: ["open"],
    to: "cancelled",
    money: [BUDGET, -BUDGET, 0],
    event: "task.cancelled",
  },
  placeBid: { by: ["stranger", "bidder", "awardedBidder", "moderator"], in: ["open"], event: "bid.received" },
  ask: { by: ["stranger", "bidder", "awardedBidder", "moderator"], in: ["open"], event: "question.asked" },
  answer: { by: ["buyer"], in: ["open"], event: "question.answered" },
  award: {
    by: ["buyer"],
    in: ["open"],
    to: "awarded",
    money: [BUDGET - PRICE, PRICE - BUDGET, 0],
    event: "task.awarded",
  },
  uploadSample: { by: ["awardedBidder"], in: ["awarded", "round"], event: "sample.posted" },
  deliver: { by: ["awardedBidder"], in: ["awarded", "round"], to: "delivered", event: "delivery.posted" },
  expire: { by: ["clock"], in: ["awarded"], to: "expired", money: [PRICE, -PRICE, 0], event: "task.expired" },
  accept: {
    by: ["buyer"],
    in: ["delivered", "checked"],
    to: "accepted",
    money: [0, -PRICE, PRICE],
    event: "task.accepted",
  },
  // Silence to the end pays for the delivery that stands.
  release: {
    by: ["clock"],
    in: ["delivered", "round"],
    to: "accepted",
    money: [0, -PRICE, PRICE],
    event: "task.accepted",
  },
  report: { by: ["buyer"], in: ["delivered", "checked"], event: "delivery.checked" },
  setCheckKey: { by: ["buyer"], in: ["open", "awarded", "round", "delivered", "checked"], event: "task.updated" },
  // Checks only ever pay, and only the delivery that they passed.
  acceptOnChecks: {
    by: ["checks"],
    in: ["checked"],
    to: "accepted",
    money: [0, -PRICE, PRICE],
    event: "task.accepted",
  },
  giveBack: {
    by: ["awardedBidder"],
    in: ["awarded"],
    to: "cancelled",
    money: [PRICE, -PRICE, 0],
    event: "task.cancelled",
  },
  extend: { by: ["buyer", "awardedBidder"], in: ["awarded", "round"], event: "agreement.ended" },
  cancelTogether: {
    by: ["buyer", "awardedBidder"],
    in: ["awarded", "round", "delivered", "checked"],
    to: "cancelled",
    money: [PRICE, -PRICE, 0],
    event: "task.cancelled",
  },
  settle: {
    by: ["buyer", "awardedBidder"],
    in: ["awarded", "round", "delivered", "checked"],
    to: "resolved",
    money: [PRICE - SHARE, -PRICE, SHARE],
    event: "task.settled",
  },
  settleDispute: {
    by: ["buyer", "awardedBidder"],
    in: ["disputed"],
    to: "resolved",
    money: [PRICE - SHARE, -PRICE, SHARE],
    event: "task.dispute_resolved",
  },
  requestChanges: { by: ["buyer"], in: ["delivered", "checked"], to: "awarded", event: "task.changes_requested" },
  declineChanges: { by: ["awardedBidder"], in: ["round"], to: "delivered", event: "task.changes_declined" },
  endRound: { by: ["clock"], in: ["round"], to: "delivered", event: "task.changes_declined" },
  dispute: { by: ["buyer", "awardedBidder"], in: ["delivered", "checked"], to: "disputed", event: "task.disputed" },
  resolve: {
    by: ["moderator"],
    in: ["disputed"],
    to: "resolved",
    money: [PRICE - SHARE, -PRICE, SHARE],
    event: "task.dispute_resolved",
  },
  rate: { by: ["buyer", "awardedBidder"], in: ["accepted", "resolved"], event: "rating.posted" },
};

function expectedRefusal(action: TaskAction, situation: Situation, actor: TaskActor): string | null {
  const { by, in: from } = allowed[action];
  const isUpload = action === "uploadSample" || action === "deliver" || action === "giveBack";
  if (!by.includes(actor)) return isUpload && actor === "bidder" ? "wrong_status" : "forbidden";
  if (from.includes(situation)) return null;
  return action === "dispute" && situation === "disputed" ? "already_disputed" : "wrong_status";
}

const NOW = new Date("2026-11-25T12:00:00Z");
const HOUR_MS = 3_600_000;
const inHours = (hours: number) => new Date(NOW.getTime() + hours * HOUR_MS);
const momentIn = (hours: number): Moment => ({ now: inHours(hours), graceSeconds: 604_800, windowSeconds: 172_800 });

/** What of a task the table's decisions depend on. */
function recordIn(situation: Situation, changes: Partial<TaskRecord> = {}): TaskRecord {
  const isDelivered = !["open", "cancelled", "awarded", "expired"].includes(situation);
  return {
    status: statusIn(situation),
    deliveryDueAt: inHours(24).toISOString(),
    deliveredAt: isDelivered ? NOW.toISOString() : null,
    acceptsAt: situation === "checked" ? inHours(1).toISOString() : null,
    acceptanceDeadlineAt: isDelivered && situation !== "round" ? inHours(48).toISOString() : null,
    revisions: 1,
    revisionsUsed: 0,
    ...changes,
  } as TaskRecord; // the rest is not looked at
}

const triples = situations.flatMap((situation) =>
  taskActions.flatMap((action) => taskActors.map((actor) => ({ situation, action, actor }))),
);

test("the table decides every combination of status, action and actor as documented, and the README shows its diagram", async () => {
  expect(Object.keys(allowed).toSorted()).toEqual(taskActions.toSorted());
  for (const { situation, action, actor } of triples) {
    const refused = expectedRefusal(action, situation, actor);
    const to = allowed[action].to ?? statusIn(situation);
    const { deadline }: Transition = taskTransitions[action];
    const decision = decideTaskAction(action, recordIn(situation), actor, momentIn(deadline === "after" ? 24 * 60 : 0));
    expect(decision, `${actor} ${action} ${situation}`).toMatchObject(
      refused === null ? { refused, to, event: allowed[action].event ?? null } : { refused },
    );
  }
  const { current, generated } = await readmeWithDiagram();
  expect(current, "run `npm run diagram`").toBe(generated);
});

/** Where a move leads: an awarded task with a delivery is in a round of changes. */
function after({ to }: Transition, from: Situation): Situation {
  if (to === "same") return from;
  return to === "awarded" && !["open", "awarded"].includes(from) ? "round" : to;
}

/** The moves that are possible in a situation. */
const movesIn = (situation: Situation): [TaskAction, Transition][] =>
  taskActions
    .map((action): [TaskAction, Transition] => [action, taskTransitions[action]])
    .filter(
      ([, { from, inRound, onChecks }]) =>
        from.includes(statusIn(situation)) &&
        (inRound === undefined || inRound === (situation === "round")) &&
        (onChecks === undefined || onChecks === (situation === "checked")),
    );

test("whoever waits for the other side does not wait for ever: from every status, silence ends the task, and the table says with whose money", () => {
  const ends = situations.filter((situation) => movesIn(situation).every(([, { to }]) => to === "same"));
  expect(ends.toSorted()).toEqual(["accepted", "cancelled", "expired", "resolved"]);
  const waiting = situations.filter((situation) => !ends.includes(situation));

  /** What silence does: the clock's moves to the end, and who has the money then. */
  const silence: Partial<Record<Situation, [...TaskAction[], string]>> = {};
  for (const start of waiting.filter((situation) => situation !== "open" && situation !== "disputed")) {
    const path: TaskAction[] = [];
    for (let at: Situation = start; !ends.includes(at); ) {
      const byClock = movesIn(at).filter(([, { by }]) => by.some((actor) => actor === "clock" || actor === "checks"));
      expect(byClock, at).toHaveLength(1);
      const [[action, move]] = byClock as [[TaskAction, Transition]]; // as expected just now
      expect(move.deadline, action).toBe("after");
      expect(deadlineOf(recordIn(at), momentIn(0)), at).not.toBeNull();
      path.push(action);
      expect(path.length, `${start} goes in circles`).toBeLessThan(situations.length);
      at = after(move, at);
      if (!ends.includes(at)) continue;
      const { returned, paid } = movements[move.money];
      const amounts = { budgetCents: BUDGET, priceCents: PRICE, bidderCents: SHARE };
      expect(returned(amounts) + paid(amounts), "the whole price goes somewhere").toBe(PRICE);
      silence[start] = [...path, paid(amounts) === PRICE ? "the bidder is paid" : "the buyer has it back"];
    }
  }
  expect(silence).toEqual({
    awarded: ["expire", "the buyer has it back"],
    round: ["endRound", "release", "the bidder is paid"],
    delivered: ["release", "the bidder is paid"],
    checked: ["acceptOnChecks", "the bidder is paid"],
  });

  // The other two need nobody else: the buyer may cancel, and a moderator decides.
  const byOne = (situation: Situation, actor: TaskActor) =>
    movesIn(situation).filter(([, move]) => move.by.includes(actor) && ends.includes(after(move, situation)));
  expect(byOne("open", "buyer").map(([action]) => action)).toEqual(["cancel"]);
  expect(byOne("disputed", "moderator").map(([action]) => action)).toEqual(["resolve"]);
});

test("changes can be asked for as often as the task has revisions, and no more", () => {
  const ask = (revisionsUsed: number) =>
    decideTaskAction("requestChanges", recordIn("delivered", { revisions: 2, revisionsUsed }), "buyer", momentIn(0));
  expect([ask(0).refused, ask(1).refused, ask(2).refused]).toEqual([null, null, "no_revisions_left"]);
});

type Person = Exclude<TaskActor, "clock" | "checks">;
let people: Record<Person, TestPerson>;
let verifier: ReportingKey;
beforeAll(async () => {
  people = {
    buyer: await createPerson(service, { cents: 100_000_000 }),
    awardedBidder: await createPerson(service),
    bidder: await createPerson(service),
    stranger: await createPerson(service),
    moderator: await createModerator(service),
  };
  verifier = await reportingKey(service, people.buyer);
});

/** A task in a state, and what it takes to act on it. */
interface Scene {
  taskId: string;
  /** The bid of whoever is or will be the awarded bidder. */
  bidId: string;
  /** A bid that was withdrawn while the task was open: its owner has a bid, and may place another one. */
  otherBidId: string;
  disputeId: string;
  questionId: string;
  situation: Situation;
  fileId: string;
  /** What was delivered last. */
  deliveryId: string;
}

async function stage(situation: Situation): Promise<Scene> {
  const { buyer, awardedBidder, bidder, moderator } = people;
  const ended = await reportingKey(service, buyer);
  const { id: taskId } = await postTask(buyer, {
    ...{ maxBudgetCents: BUDGET, revisions: 2, acceptOnChecks: { afterMinutes: 60 } },
    checks: [
      sizeCheck,
      externalCheck(verifier.id, { required: false }),
      externalCheck(ended.id, { name: "Ended", required: false }),
    ],
  });
  await buyer.delete(`/keys/${ended.id}`);
  const { id: bidId } = await placeBid(awardedBidder, taskId, { priceCents: PRICE });
  const { id: otherBidId } = await placeBid(bidder, taskId);
  await bidder.post(`/bids/${otherBidId}/withdraw`);
  const { question } = (await bidder.post(`/tasks/${taskId}/questions`, { text: "Which Finnish?" })).body;
  const { id: fileId } = await addBriefFile(buyer, taskId);
  const scene = {
    taskId,
    bidId,
    otherBidId,
    disputeId: crypto.randomUUID() as string,
    questionId: question.id,
    situation,
    fileId,
    deliveryId: crypto.randomUUID() as string,
  };
  const path: Partial<Record<Situation, [TaskAction, Person | "clock"][]>> = {
    cancelled: [["cancel", "buyer"]],
    awarded: [["award", "buyer"]],
    expired: [
      ["award", "buyer"],
      ["expire", "clock"],
    ],
    delivered: [
      ["award", "buyer"],
      ["deliver", "awardedBidder"],
    ],
    accepted: [
      ["award", "buyer"],
      ["deliver", "awardedBidder"],
      ["accept", "buyer"],
    ],
    disputed: [
      ["award", "buyer"],
      ["deliver", "awardedBidder"],
      ["dispute", "buyer"],
    ],
    round: [
      ["award", "buyer"],
      ["deliver", "awardedBidder"],
      ["requestChanges", "buyer"],
    ],
    checked: [
      ["award", "buyer"],
      ["deliver", "awardedBidder"],
    ],
    resolved: [
      ["award", "buyer"],
      ["deliver", "awardedBidder"],
      ["dispute", "buyer"],
    ],
  };
  for (const [action, actor] of path[situation] ?? []) {
    const answer = await act(action, actor, scene);
    if (action === "deliver") scene.deliveryId = answer?.body.delivery.id;
    if (action === "dispute") scene.disputeId = answer?.body.dispute.id;
  }
  if (situation === "checked") await checkDelivery(service.services, { deliveryId: scene.deliveryId });
  if (situation === "resolved") await moderator.post(`/disputes/${scene.disputeId}/resolve`, { resolution: "refund" });
  expect((await buyer.get(`/tasks/${taskId}`)).body.task.status).toBe(statusIn(situation));
  return scene;
}

/** The services with a clock that is past every deadline. */
const late = () => ({
  ...service.services,
  clock: clockOf(() => new Date(service.clock.now().getTime() + 60 * 24 * 3_600_000)),
});

/** Does an action as a client, or as the jobs, would; undefined when there is no way for this actor to even try. */
async function act(action: TaskAction, actor: TaskActor | "anonymous", scene: Scene): Promise<Answer | undefined> {
  const { taskId, bidId, otherBidId, disputeId, questionId, fileId } = scene;
  const jobs = {
    expire: expireTask,
    release: acceptDelivery,
    acceptOnChecks: acceptDelivery,
    endRound: endOverdueRound,
  };
  if (action === "expire" || action === "release" || action === "endRound" || action === "acceptOnChecks") {
    // One job accepts, as the clock or because of checks.
    const isOther = action === (scene.situation === "checked" ? "release" : "acceptOnChecks");
    if (!isOther && actor === (action === "acceptOnChecks" ? "checks" : "clock")) {
      await jobs[action](late(), { taskId });
    }
    return undefined;
  }
  if (actor === "clock" || actor === "checks") return undefined;
  const send = (method: string, path: string, body?: unknown) =>
    rest(service.url, method, path, { body, credentials: actor === "anonymous" ? {} : people[actor].session });
  const ownBidId = actor === "bidder" ? otherBidId : bidId;
  switch (action) {
    case "update":
      return send("PATCH", `/tasks/${taskId}`, { description: `changed by the ${actor}` });
    case "changeFiles":
      return send("DELETE", `/tasks/${taskId}/files/${fileId}`);
    case "report": {
      const key = actor === "buyer" ? verifier.credentials : {};
      const credentials = actor === "anonymous" ? {} : actor === "buyer" ? key : people[actor].session;
      return report(service, { credentials }, scene.deliveryId);
    }
    case "setCheckKey":
      return send("POST", `/tasks/${taskId}/checks/key`, { name: "Ended", keyId: verifier.id });
    case "cancel":
    case "accept":
      return send("POST", `/tasks/${taskId}/${action}`);
    case "award":
      return send("POST", `/tasks/${taskId}/award`, { bidId });
    case "placeBid":
      return send("POST", `/tasks/${taskId}/bids`, { priceCents: 100, etaHours: 1 });
    case "ask":
      return send("POST", `/tasks/${taskId}/questions`, { text: "How many words?" });
    case "answer":
      return send("POST", `/questions/${questionId}/answer`, { text: "Plain, spoken Finnish." });
    case "requestChanges":
      return send("POST", `/tasks/${taskId}/request-changes`, { reason: disputeReason });
    case "declineChanges":
      return send("POST", `/tasks/${taskId}/decline-changes`, { reason: disputeReason });
    case "giveBack":
      return send("POST", `/bids/${ownBidId}/give-back`, { reason: disputeReason });
    case "extend":
    case "cancelTogether":
    case "settle":
    case "settleDispute": {
      // Over HTTP both settle; the task's status decides which of the two it is.
      if (action.startsWith("settle") && (action === "settle") === (scene.situation === "disputed")) return undefined;
      const proposal = {
        extend: { kind: "extend", deliveryDueAt: new Date(Date.now() + 30 * 24 * HOUR_MS).toISOString() },
        cancelTogether: { kind: "cancel" },
        settle: { kind: "settle", bidderCents: SHARE },
        settleDispute: { kind: "settle", bidderCents: SHARE },
      }[action];
      const proposed = await send("POST", `/tasks/${taskId}/agreements`, { reason: disputeReason, ...proposal });
      if (proposed.status !== 201) return proposed;
      const other = actor === "buyer" ? people.awardedBidder : people.buyer;
      return other.post(`/agreements/${proposed.body.agreement.id}/accept`);
    }
    case "dispute":
      return send("POST", `/tasks/${taskId}/dispute`, { reason: disputeReason });
    case "rate":
      return send("POST", `/tasks/${taskId}/rate`, { stars: 5 });
    case "resolve":
      return send("POST", `/disputes/${disputeId}/resolve`, { resolution: "split", bidderCents: SHARE });
    case "uploadSample": {
      const init = await send("POST", `/bids/${ownBidId}/sample/init`, { mimeType: "text/plain", bytes: 5 });
      if (init.status !== 200 || actor === "anonymous") return init;
      const storageKey = await upload(people[actor], ownBidId, "sample");
      return send("POST", `/bids/${ownBidId}/sample/finalize`, { storageKey });
    }
    case "deliver": {
      const init = await send("POST", `/bids/${ownBidId}/delivery/init`, { mimeType: "text/plain", bytes: 12 });
      const finalize = (storageKey: string) => send("POST", `/bids/${ownBidId}/delivery/finalize`, { storageKey });
      if (init.status !== 200 || actor === "anonymous") {
        const finalized = await finalize(`deliveries/${ownBidId}/none`);
        expect([finalized.status, finalized.body.error]).toEqual([init.status, init.body.error]);
        return init;
      }
      return finalize(await upload(people[actor], ownBidId, "delivery"));
    }
  }
}

const hasDelivery = (situation: Situation) => !["open", "cancelled", "awarded", "expired"].includes(situation);

/** Everything that an action could change: rows of the task, and all money. */
async function snapshot(taskId: string) {
  const [row] = await service.services.database.query<Record<string, unknown>>(sql`
    SELECT (SELECT to_jsonb(t) FROM tasks t WHERE id = ${taskId}::uuid) AS task,
           (SELECT jsonb_agg(b ORDER BY id) FROM bids b WHERE task_id = ${taskId}::uuid) AS bids,
           (SELECT jsonb_agg(d) FROM disputes d WHERE task_id = ${taskId}::uuid) AS disputes,
           (SELECT jsonb_agg(q ORDER BY id) FROM questions q WHERE task_id = ${taskId}::uuid) AS questions,
           (SELECT jsonb_agg(r ORDER BY id) FROM ratings r WHERE task_id = ${taskId}::uuid) AS ratings,
           (SELECT jsonb_agg(a ORDER BY id) FROM agreements a WHERE task_id = ${taskId}::uuid) AS agreements,
           (SELECT jsonb_agg(r ORDER BY round) FROM change_rounds r WHERE task_id = ${taskId}::uuid) AS rounds,
           (SELECT jsonb_agg(a ORDER BY id) FROM artifacts a WHERE task_id = ${taskId}::uuid) AS artifacts,
           (SELECT jsonb_agg(type ORDER BY created_at) FROM events WHERE task_id = ${taskId}::uuid) AS events,
           (SELECT jsonb_agg(w ORDER BY user_id) FROM wallets w) AS wallets,
           (SELECT jsonb_agg(r ORDER BY user_id) FROM reputations r) AS reputations,
           (SELECT count(*) FROM ledger_entries) AS entries`);
  return row;
}

const walletsOf = async () => {
  const buyer = (await people.buyer.get("/wallet")).body;
  return [buyer.availableCents, buyer.heldCents, (await people.awardedBidder.get("/wallet")).body.availableCents];
};
/** The types of a task's events, oldest first, without those of bids that lost. */
const eventsOf = async (taskId: string) =>
  (
    await service.services.database.query<{ type: string }>(sql`
    SELECT type FROM events WHERE task_id = ${taskId}::uuid AND type <> 'bid.rejected' ORDER BY created_at, id`)
  ).map(({ type }) => type);

/** The events of an action: its own, and those of what else it takes. */
function expectedEvents(action: TaskAction, situation: Situation): string[] {
  const { event } = allowed[action];
  if (event === undefined) return [];
  if (action === "extend") return ["agreement.proposed", event];
  if (action === "settleDispute") return ["agreement.proposed", event, "task.settled", "agreement.ended"];
  if (action === "settle" || action === "cancelTogether") return ["agreement.proposed", event, "agreement.ended"];
  // The clock that is past every deadline ends the round first.
  return situation === "round" && action === "release" ? ["task.changes_declined", event] : [event];
}

describe.each(situations)("a task that is %s", (situation) => {
  const status = statusIn(situation);
  // Before an award nobody is the awarded bidder: whoever has a bid is a bidder.
  const actors = taskActors.filter((actor) => actor !== "awardedBidder" || !["open", "cancelled"].includes(status));
  const refusedPairs = taskActions.flatMap((action) =>
    actors.filter((actor) => expectedRefusal(action, situation, actor) !== null).map((actor) => ({ action, actor })),
  );
  const allowedPairs = taskActions.flatMap((action) =>
    actors.filter((actor) => expectedRefusal(action, situation, actor) === null).map((actor) => ({ action, actor })),
  );

  test(`refuses ${refusedPairs.length} pairs of action and actor with the documented error, and nothing changes`, async () => {
    const scene = await stage(situation);
    const before = await snapshot(scene.taskId);
    for (const { action, actor } of refusedPairs) {
      const answer = await act(action, actor, scene);
      if (answer !== undefined) {
        // Without a dispute there is nothing that a moderator could name.
        const unnamed = action === "resolve" && actor === "moderator" && !["disputed", "resolved"].includes(status);
        const unreported = action === "report" && actor === "buyer" && !hasDelivery(situation);
        const code = unnamed || unreported ? "not_found" : expectedRefusal(action, situation, actor);
        const httpStatus = { forbidden: 403, not_found: 404, wrong_status: 409, already_disputed: 409 }[code ?? ""];
        expect([answer.status, answer.body.error], `${actor} ${action}`).toEqual([httpStatus, code]);
      }
      expect(await snapshot(scene.taskId), `${actor} ${action}`).toEqual(before);
    }
    for (const action of taskActions) {
      const answer = await act(action, "anonymous", scene);
      if (answer !== undefined)
        expect([action, answer.status, answer.body.error]).toEqual([action, 401, "unauthenticated"]);
    }
    expect(await snapshot(scene.taskId)).toEqual(before);
  });

  test.each(allowedPairs)(
    "lets the $actor $action, which moves state, money and event as decided",
    async ({ action, actor }) => {
      const scene = await stage(situation);
      const before = { wallets: await walletsOf(), events: (await eventsOf(scene.taskId)).length };
      const answer = await act(action, actor, scene);
      if (answer !== undefined) expect(answer.status, answer.text).toBeLessThan(300);

      const { to = status, money = [0, 0, 0] } = allowed[action];
      expect((await people.buyer.get(`/tasks/${scene.taskId}`)).body.task.status).toBe(to);
      expect(await walletsOf()).toEqual(before.wallets.map((cents, index) => cents + (money[index] ?? 0)));
      expect((await eventsOf(scene.taskId)).slice(before.events)).toEqual(expectedEvents(action, situation));
    },
  );
});
