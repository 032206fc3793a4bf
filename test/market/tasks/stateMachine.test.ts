import { beforeAll, describe, expect, test } from "vitest";
import { readmeWithDiagram } from "../../../openapi/stateDiagram.ts";
import { acceptDelivery } from "../../../server/market/tasks/acceptDelivery.ts";
import { expireTask } from "../../../server/market/tasks/expireTask.ts";
import {
  decide,
  type TaskAction,
  type TaskActor,
  taskActions,
  taskActors,
} from "../../../server/market/tasks/stateMachine.ts";
import { type TaskStatus, taskStatuses } from "../../../server/schemas/task.ts";
import { sql } from "../../../server/store/connection.ts";
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

/** What must be true, written down apart from the table that the service decides by. Source: docs/contract.md "States". */
interface Allowed {
  by: TaskActor[];
  in: TaskStatus[];
  to?: TaskStatus;
  /** Changes of the buyer's available and held buckets, and of the bidder's available one. */
  money?: [number, number, number];
  event?: string;
}
const allowed: Record<TaskAction, Allowed> = {
  update: { by: ["buyer"], in: ["open"], event: "task.updated" },
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
  uploadSample: { by: ["awardedBidder"], in: ["awarded"], event: "sample.posted" },
  deliver: { by: ["awardedBidder"], in: ["awarded"], to: "delivered", event: "delivery.posted" },
  expire: { by: ["clock"], in: ["awarded"], to: "expired", money: [PRICE, -PRICE, 0], event: "task.expired" },
  accept: { by: ["buyer"], in: ["delivered"], to: "accepted", money: [0, -PRICE, PRICE], event: "task.accepted" },
  release: { by: ["clock"], in: ["delivered"], to: "accepted", money: [0, -PRICE, PRICE], event: "task.accepted" },
  dispute: { by: ["buyer", "awardedBidder"], in: ["delivered"], to: "disputed", event: "task.disputed" },
  resolve: {
    by: ["moderator"],
    in: ["disputed"],
    to: "resolved",
    money: [PRICE - SHARE, -PRICE, SHARE],
    event: "task.dispute_resolved",
  },
  rate: { by: ["buyer", "awardedBidder"], in: ["accepted", "resolved"], event: "rating.posted" },
};

function expectedRefusal(action: TaskAction, status: TaskStatus, actor: TaskActor): string | null {
  const { by, in: from } = allowed[action];
  const isUpload = action === "uploadSample" || action === "deliver";
  if (!by.includes(actor)) return isUpload && actor === "bidder" ? "wrong_status" : "forbidden";
  if (from.includes(status)) return null;
  return action === "dispute" && status === "disputed" ? "already_disputed" : "wrong_status";
}

const triples = taskStatuses.flatMap((status) =>
  taskActions.flatMap((action) => taskActors.map((actor) => ({ status, action, actor }))),
);

test("the table decides every combination of status, action and actor as documented, and the README shows its diagram", async () => {
  expect(Object.keys(allowed).toSorted()).toEqual(taskActions.toSorted());
  for (const { status, action, actor } of triples) {
    const refused = expectedRefusal(action, status, actor);
    const to = allowed[action].to ?? status;
    expect(decide(action, status, actor), `${actor} ${action} ${status}`).toMatchObject(
      refused === null ? { refused, to, event: allowed[action].event ?? null } : { refused },
    );
  }
  const { current, generated } = await readmeWithDiagram();
  expect(current, "run `npm run diagram`").toBe(generated);
});

let people: Record<Exclude<TaskActor, "clock">, TestPerson>;
beforeAll(async () => {
  people = {
    buyer: await createPerson(service, { cents: 100_000_000 }),
    awardedBidder: await createPerson(service),
    bidder: await createPerson(service),
    stranger: await createPerson(service),
    moderator: await createModerator(service),
  };
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
}

async function stage(status: TaskStatus): Promise<Scene> {
  const { buyer, awardedBidder, bidder, moderator } = people;
  const { id: taskId } = await postTask(buyer, { maxBudgetCents: BUDGET });
  const { id: bidId } = await placeBid(awardedBidder, taskId, { priceCents: PRICE });
  const { id: otherBidId } = await placeBid(bidder, taskId);
  await bidder.post(`/bids/${otherBidId}/withdraw`);
  const { question } = (await bidder.post(`/tasks/${taskId}/questions`, { text: "Which Finnish?" })).body;
  const scene = { taskId, bidId, otherBidId, disputeId: crypto.randomUUID() as string, questionId: question.id };
  const path: Partial<Record<TaskStatus, [TaskAction, keyof typeof people | "clock"][]>> = {
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
    resolved: [
      ["award", "buyer"],
      ["deliver", "awardedBidder"],
      ["dispute", "buyer"],
    ],
  };
  for (const [action, actor] of path[status] ?? []) {
    const answer = await act(action, actor, scene);
    if (action === "dispute") scene.disputeId = answer?.body.dispute.id;
  }
  if (status === "resolved") await moderator.post(`/disputes/${scene.disputeId}/resolve`, { resolution: "refund" });
  expect((await buyer.get(`/tasks/${taskId}`)).body.task.status).toBe(status);
  return scene;
}

/** The services with a clock that is past every deadline. */
const late = () => ({
  ...service.services,
  clock: clockOf(() => new Date(service.clock.now().getTime() + 60 * 24 * 3_600_000)),
});

/** Does an action as a client, or as the jobs, would; undefined when there is no way for this actor to even try. */
async function act(action: TaskAction, actor: TaskActor | "anonymous", scene: Scene): Promise<Answer | undefined> {
  const { taskId, bidId, otherBidId, disputeId, questionId } = scene;
  if (action === "expire" || action === "release") {
    if (actor === "clock") await (action === "expire" ? expireTask : acceptDelivery)(late(), { taskId });
    return undefined;
  }
  if (actor === "clock") return undefined;
  const send = (method: string, path: string, body?: unknown) =>
    rest(service.url, method, path, { body, credentials: actor === "anonymous" ? {} : people[actor].session });
  const ownBidId = actor === "bidder" ? otherBidId : bidId;
  switch (action) {
    case "update":
      return send("PATCH", `/tasks/${taskId}`, { description: `changed by the ${actor}` });
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

/** Everything that an action could change: rows of the task, and all money. */
async function snapshot(taskId: string) {
  const [row] = await service.services.database.query<Record<string, unknown>>(sql`
    SELECT (SELECT to_jsonb(t) FROM tasks t WHERE id = ${taskId}::uuid) AS task,
           (SELECT jsonb_agg(b ORDER BY id) FROM bids b WHERE task_id = ${taskId}::uuid) AS bids,
           (SELECT jsonb_agg(d) FROM disputes d WHERE task_id = ${taskId}::uuid) AS disputes,
           (SELECT jsonb_agg(q ORDER BY id) FROM questions q WHERE task_id = ${taskId}::uuid) AS questions,
           (SELECT jsonb_agg(r ORDER BY id) FROM ratings r WHERE task_id = ${taskId}::uuid) AS ratings,
           (SELECT count(*) FROM artifacts WHERE task_id = ${taskId}::uuid) AS artifacts,
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
/** Without the events of bids that lost. */
const lastEvent = async (taskId: string) =>
  (
    await service.services.database.query<{ type: string; count: number }>(sql`
    SELECT type, (SELECT count(*) FROM events WHERE task_id = ${taskId}::uuid AND type <> 'bid.rejected') AS count
    FROM events WHERE task_id = ${taskId}::uuid AND type <> 'bid.rejected' ORDER BY created_at DESC LIMIT 1`)
  )[0];

describe.each(taskStatuses)("a task that is %s", (status) => {
  // Before an award nobody is the awarded bidder: whoever has a bid is a bidder.
  const actors = taskActors.filter((actor) => actor !== "awardedBidder" || !["open", "cancelled"].includes(status));
  const refusedPairs = taskActions.flatMap((action) =>
    actors.filter((actor) => expectedRefusal(action, status, actor) !== null).map((actor) => ({ action, actor })),
  );
  const allowedPairs = taskActions.flatMap((action) =>
    actors.filter((actor) => expectedRefusal(action, status, actor) === null).map((actor) => ({ action, actor })),
  );

  test(`refuses ${refusedPairs.length} pairs of action and actor with the documented error, and nothing changes`, async () => {
    const scene = await stage(status);
    const before = await snapshot(scene.taskId);
    for (const { action, actor } of refusedPairs) {
      const answer = await act(action, actor, scene);
      if (answer !== undefined) {
        // Without a dispute there is nothing that a moderator could name.
        const unnamed = action === "resolve" && actor === "moderator" && !["disputed", "resolved"].includes(status);
        const code = unnamed ? "not_found" : expectedRefusal(action, status, actor);
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
      const scene = await stage(status);
      const before = { wallets: await walletsOf(), events: (await lastEvent(scene.taskId))?.count ?? 0 };
      const answer = await act(action, actor, scene);
      if (answer !== undefined) expect(answer.status, answer.text).toBeLessThan(300);

      const { to = status, money = [0, 0, 0], event } = allowed[action];
      expect((await people.buyer.get(`/tasks/${scene.taskId}`)).body.task.status).toBe(to);
      expect(await walletsOf()).toEqual(before.wallets.map((cents, index) => cents + (money[index] ?? 0)));
      const last = await lastEvent(scene.taskId);
      expect(last?.count).toBe(before.events + (event === undefined ? 0 : 1));
      if (event !== undefined) expect(last?.type).toBe(event);
    },
  );
});
