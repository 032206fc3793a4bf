import { beforeAll, describe, expect, test } from "vitest";
import { type BidAction, bidActors, bidTransitions, decideBid } from "../../../server/market/bids/rules.ts";
import { type BidStatus, bidStatuses } from "../../../server/schemas/bid.ts";
import { sql } from "../../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { placeBid, postTask } from "../../factories/tasks.ts";
import { rest } from "../../setup/client.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
type Actor = (typeof bidActors)[number];
let people: Record<Actor | "rival", TestPerson>;

beforeAll(async () => {
  people = {
    owner: await createPerson(service),
    buyer: await createPerson(service, { cents: 10_000_000 }),
    stranger: await createPerson(service),
    rival: await createPerson(service),
  };
});

async function stage(status: BidStatus): Promise<{ taskId: string; bidId: string }> {
  const { owner, buyer, rival } = people;
  const { id: taskId } = await postTask(buyer);
  const { id: bidId } = await placeBid(owner, taskId, { priceCents: 500 });
  const rivals = await placeBid(rival, taskId);
  if (status === "withdrawn") await owner.post(`/bids/${bidId}/withdraw`);
  if (status === "rejected") await buyer.post(`/tasks/${taskId}/award`, { bidId: rivals.id });
  if (status === "awarded") await buyer.post(`/tasks/${taskId}/award`, { bidId });
  expect((await owner.get(`/tasks/${taskId}/bids`)).body.bids[0].status).toBe(status);
  return { taskId, bidId };
}

function act(action: BidAction, actor: Actor | "anonymous", { taskId, bidId }: { taskId: string; bidId: string }) {
  const credentials = actor === "anonymous" ? {} : people[actor].session;
  const send = (method: string, path: string, body?: unknown) => rest(service.url, method, path, { body, credentials });
  if (action === "update") return send("PATCH", `/bids/${bidId}`, { notes: `changed by the ${actor}` });
  if (action === "withdraw") return send("POST", `/bids/${bidId}/withdraw`);
  return send("POST", `/tasks/${taskId}/award`, { bidId });
}

const snapshot = async (taskId: string) =>
  (
    await service.services.database.query<Record<string, unknown>>(sql`
    SELECT (SELECT to_jsonb(t) FROM tasks t WHERE id = ${taskId}::uuid) AS task,
           (SELECT jsonb_agg(b ORDER BY id) FROM bids b WHERE task_id = ${taskId}::uuid) AS bids,
           (SELECT jsonb_agg(w ORDER BY user_id) FROM wallets w) AS wallets`)
  )[0];

// `reject` is what an award or a cancellation does to the other bids: nobody requests it.
const actions = ["update", "withdraw", "award"] as const;
const next = { update: "active", withdraw: "withdrawn", award: "awarded" } as const;

function expected(action: (typeof actions)[number], status: BidStatus, actor: Actor): [number, string | undefined] {
  if (actor !== (action === "award" ? "buyer" : "owner")) return [403, "forbidden"];
  if (status === "active") return [200, undefined];
  // A rejected or awarded bid has a task that is not open any more, which is told first.
  return [409, action === "award" && status === "withdrawn" ? "bid_invalid" : "wrong_status"];
}

describe.each(bidStatuses)("a bid that is %s", (status) => {
  test.each(actions)(
    "%s: at most one actor may; everyone else gets the documented error, and nothing changes",
    async (action) => {
      const scene = await stage(status);
      const before = await snapshot(scene.taskId);
      for (const actor of bidActors.filter((candidate) => expected(action, status, candidate)[0] !== 200)) {
        const answer = await act(action, actor, scene);
        expect([actor, answer.status, answer.body.error]).toEqual([actor, ...expected(action, status, actor)]);
      }
      expect((await act(action, "anonymous", scene)).status).toBe(401);
      expect(await snapshot(scene.taskId)).toEqual(before);

      const actor = bidActors.find((candidate) => expected(action, status, candidate)[0] === 200);
      if (actor === undefined) return;
      expect((await act(action, actor, scene)).status).toBe(200);
      expect((await people.owner.get(`/tasks/${scene.taskId}/bids`)).body.bids[0].status).toBe(next[action]);
    },
  );
});

test("cancelling a task rejects its active bids, and withdrawn bids stay withdrawn", async () => {
  const { taskId } = await stage("withdrawn");
  await people.buyer.post(`/tasks/${taskId}/cancel`);
  const { bids } = (await people.buyer.get(`/tasks/${taskId}/bids`)).body;
  expect(bids.map((bid: { status: string }) => bid.status).toSorted()).toEqual(["rejected", "withdrawn"]);
});

test("a bid's transition is allowed exactly as the table says, and refused with the documented error", () => {
  for (const action of Object.keys(bidTransitions) as BidAction[]) {
    for (const status of bidStatuses) {
      for (const actor of bidActors) {
        const { by, from, to } = bidTransitions[action];
        const decision = decideBid(action, status, actor);
        if (actor === by && status === from) expect(decision).toEqual({ refused: null, to });
        else
          expect(decision.refused).toBe(
            actor !== by ? "forbidden" : action === "award" ? "bid_invalid" : "wrong_status",
          );
      }
    }
  }
});
