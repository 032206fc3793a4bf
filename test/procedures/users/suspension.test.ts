import { beforeAll, expect, test } from "vitest";
import { sweepOnce } from "../../../server/jobs/sweeps.ts";
import { reinstateUser, suspendUser } from "../../../server/market/accounts/suspension.ts";
import { findWindingDown, windDown } from "../../../server/market/accounts/windDown.ts";
import { acceptDelivery } from "../../../server/market/tasks/acceptDelivery.ts";
import { sql } from "../../../server/store/connection.ts";
import { addShared, putShared } from "../../factories/conversation.ts";
import { createModerator, makeModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { signIn } from "../../factories/secondFactors.ts";
import { awardedTask, deliveredTask, placeBid, postTask, taskInput } from "../../factories/tasks.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { rest } from "../../setup/client.ts";
import { expectError } from "../../setup/expectError.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
let moderator: TestPerson;

beforeAll(async () => {
  moderator = await createModerator(service);
});

const suspend = (user: { id: string }, reason = "Spam.") => moderator.post(`/users/${user.id}/suspend`, { reason });
const reinstate = (user: { id: string }) => moderator.post(`/users/${user.id}/reinstate`);

/** What the job and the sweep do. */
async function windDownAll(): Promise<PromiseSettledResult<void>[]> {
  const found = await findWindingDown(service.services, 100, null);
  return Promise.allSettled(found.map((user) => windDown(service.services, user)));
}

test("a suspension ends sessions and keys for good: reinstated, the user signs in anew", async () => {
  const user = await createPerson(service);
  const suspended = await suspend(user);
  expect(suspended.status).toBe(200);
  expect(suspended.body.user).toEqual({
    ...{ id: user.id, email: user.email, displayName: user.displayName, role: "member" },
    ...{ createdAt: expect.any(String), emailVerifiedAt: null },
    suspendedAt: expect.stringMatching(/^\d{4}-/),
  });
  for (const credentials of [user.session, user.key]) {
    expectError(await rest(service.url, "GET", "/auth/me", { credentials }), "unauthenticated");
  }
  expectError((await signIn(service, user)).answer, "invalid_credentials");

  expect((await reinstate(user)).body.user.suspendedAt).toBeNull();
  for (const credentials of [user.session, user.key]) {
    expectError(await rest(service.url, "GET", "/auth/me", { credentials }), "unauthenticated");
  }
  const { session } = await signIn(service, user);
  expect((await rest(service.url, "GET", "/keys", { credentials: session })).body.keys).toEqual([]);
});

test("open tasks are cancelled with their holds returned, active bids withdrawn, and the rest goes its way", async () => {
  const [user, other, third] = await Promise.all([
    createPerson(service, { cents: 100_000 }),
    createPerson(service, { cents: 100_000 }),
    createPerson(service),
  ]);
  const open = await postTask(user);
  const rivalBid = await placeBid(third, open.id);
  const theirs = await postTask(other);
  const bid = await placeBid(user, theirs.id);
  const kept = await placeBid(third, theirs.id);
  const won = await awardedTask(other, user);
  const bought = await deliveredTask(user, third, { priceCents: 5_000 });
  const before = (await user.get("/wallet")).body;
  expect((await suspend(user)).status).toBe(200);
  // At once, even before the job has run.
  expectError(await other.post(`/tasks/${theirs.id}/award`, { bidId: bid.id }), "bid_invalid");
  await windDownAll();

  const readTask = async (id: string) => (await other.get(`/tasks/${id}`)).body.task;
  expect(await readTask(open.id)).toMatchObject({ status: "cancelled", closedAt: expect.any(String) });
  expect((await third.get(`/bids/${rivalBid.id}`)).body.bid.status).toBe("rejected");
  expect(await readTask(theirs.id)).toMatchObject({ status: "open", bidCount: 1 });
  expect((await other.get(`/bids/${bid.id}`)).body.bid.status).toBe("withdrawn");
  expect(await readTask(won.task.id)).toMatchObject({ status: "awarded" });
  expect(await readTask(bought.task.id)).toMatchObject({ status: "delivered" });
  const [wallet] = await service.services.database.query(sql`
    SELECT available_cents AS "availableCents", held_cents AS "heldCents" FROM wallets WHERE user_id = ${user.id}::uuid`);
  expect(wallet).toEqual({ availableCents: before.availableCents + 10_000, heldCents: 5_000 });
  // The other side is paid when the window has passed.
  service.clock.advance(172_801);
  await acceptDelivery(service.services, { taskId: bought.task.id });
  expect(await readTask(bought.task.id)).toMatchObject({ status: "accepted" });
  expect((await other.post(`/tasks/${theirs.id}/award`, { bidId: kept.id })).status).toBe(200);
  await expectBooksToBalance(service);
});

test("what a suspended user asked, wrote and shared stays under their name; they add nothing, and others only to what was awarded", async () => {
  const [user, other] = [await createPerson(service), await createPerson(service, { cents: 100_000 })];
  const theirs = await postTask(other);
  const bid = await placeBid(user, theirs.id);
  const { bid: won } = await awardedTask(other, user);
  await user.post(`/tasks/${theirs.id}/questions`, { text: "Until when?" });
  const file = await addShared(user, `/bids/${bid.id}`, "A sample.");
  const ready = await putShared(user, `/bids/${won.id}`);
  for (const { id } of [bid, won]) {
    const fileIds = id === bid.id ? [file.id] : [];
    expect((await user.post(`/bids/${id}/messages`, { text: "Like this?", fileIds })).status).toBe(201);
  }
  await suspend(user);
  await windDownAll();

  const refused = [
    user.post(`/bids/${won.id}/messages`, { text: "One more thing." }),
    user.post(`/bids/${won.id}/files/init`, { mimeType: "text/plain", bytes: 1 }),
    user.post(`/bids/${won.id}/files/finalize`, { storageKey: ready.storageKey }),
    user.post(`/tasks/${theirs.id}/questions`, { text: "And where?" }),
  ];
  for (const answer of await Promise.all(refused)) expectError(answer, "unauthenticated");
  const name = { id: user.id, displayName: user.displayName };
  const [asked] = (await other.get(`/tasks/${theirs.id}/questions`)).body.questions;
  expect(asked).toMatchObject({ text: "Until when?", asker: name });
  expect((await other.post(`/questions/${asked.id}/answer`, { text: "Tomorrow." })).status).toBe(200);
  const [message] = (await other.get(`/bids/${bid.id}/messages`)).body.messages;
  expect(message).toMatchObject({ text: "Like this?", sender: name, files: [{ id: file.id }] });
  expect(await (await fetch(message.files[0].downloadUrl)).text()).toBe("A sample.");
  expectError(await other.post(`/bids/${bid.id}/messages`, { text: "Why?" }), "wrong_status");
  expect((await other.post(`/bids/${won.id}/messages`, { text: "Do you still deliver?" })).status).toBe(201);
});

test("a message that races with a suspension is written before it, or not at all", async () => {
  const [user, other] = [await createPerson(service), await createPerson(service, { cents: 100_000 })];
  const { bid } = await awardedTask(other, user);
  const sent = Array.from({ length: 12 }, (_, n) => user.post(`/bids/${bid.id}/messages`, { text: `Message ${n}` }));
  const [suspended, ...answers] = await Promise.all([suspend(user), ...sent]);
  expect(suspended.status).toBe(200);
  const written = answers.filter(({ status }) => status === 201).length;
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(answers.length - written);
  expect((await other.get(`/bids/${bid.id}/messages`)).body.messages).toHaveLength(written);
});

test("a repeat changes nothing and is not recorded; nobody suspends themselves or a moderator", async () => {
  const user = await createPerson(service);
  const colleague = await createModerator(service);
  const first = await suspend(user, "First.");
  expect((await suspend(user, "Second.")).body).toEqual(first.body);
  await Promise.all([reinstate(user), reinstate(user), reinstate(user)]);
  expectError(await suspend(moderator), "forbidden");
  expectError(await suspend(colleague), "forbidden");
  expect((await colleague.get("/auth/me")).status).toBe(200);
  expectError(await suspend({ id: crypto.randomUUID() }), "not_found");
  expectError(await reinstate({ id: crypto.randomUUID() }), "not_found");
  expectError(await moderator.post(`/users/${user.id}/suspend`), "invalid_input");
  expectError(await moderator.post(`/users/${user.id}/suspend`, { reason: "" }), "invalid_input");

  const { actions } = (await moderator.get("/moderation/actions")).body;
  const about = actions.filter((action: { user: { id: string } | null }) => action.user?.id === user.id);
  expect(about.map(({ action, reason }: { action: string; reason: string }) => [action, reason])).toEqual([
    ["reinstate_user", null],
    ["suspend_user", "First."],
  ]);
  expect(about[1]).toEqual({
    id: expect.any(String),
    action: "suspend_user",
    moderator: { id: moderator.id, displayName: moderator.displayName },
    questionId: null,
    user: { id: user.id, displayName: user.displayName },
    disputeId: null,
    reason: "First.",
    createdAt: expect.any(String),
  });
});

test("whatever races with a suspension, nothing open, active or signed in is left behind it", async () => {
  const users = await Promise.all(Array.from({ length: 4 }, () => createPerson(service, { cents: 1_000_000 })));
  const buyer = await createPerson(service, { cents: 1_000_000 });
  const tasks = await Promise.all(Array.from({ length: 6 }, () => postTask(buyer)));
  const bids = await Promise.all(users.map((user) => placeBid(user, tasks[0].id)));
  const allowed = [200, 201, 401, 409];
  await Promise.all(
    users.map(async (user, index) => {
      const work = [
        ...Array.from({ length: 6 }, () => user.post("/tasks", taskInput({ maxBudgetCents: 100 }))),
        ...tasks.slice(1).map(({ id }) => user.post(`/tasks/${id}/bids`, { priceCents: 100, etaHours: 1 })),
        user.post("/keys", { label: "late", scopes: [] }),
        signIn(service, user).then(({ answer }) => answer),
        suspend(user),
        ...(index === 0 ? [buyer.post(`/tasks/${tasks[0].id}/award`, { bidId: bids[0].id })] : []),
      ];
      for (const { status, text } of await Promise.all(work)) expect(allowed, text).toContain(status);
    }),
  );
  await windDownAll();
  const ids = users.map(({ id }) => id);
  const [left] = await service.services.database.query(sql`
    SELECT (SELECT count(*)::int FROM tasks WHERE buyer_id = ANY (${ids}::uuid[]) AND status = 'open') AS tasks,
           (SELECT count(*)::int FROM bids WHERE bidder_id = ANY (${ids}::uuid[]) AND status = 'active') AS bids,
           (SELECT count(*)::int FROM sessions WHERE user_id = ANY (${ids}::uuid[])) AS sessions,
           (SELECT count(*)::int FROM api_keys WHERE user_id = ANY (${ids}::uuid[])) AS keys,
           (SELECT count(*)::int FROM users WHERE winding_down) AS "windingDown"`);
  expect(left).toEqual({ tasks: 0, bids: 0, sessions: 0, keys: 0, windingDown: 0 });
  await expectBooksToBalance(service);
});

test("many open tasks do not make one long transaction, and a run that died goes on where it stopped", async () => {
  const { database } = service.services;
  const user = await createPerson(service, { cents: 1_000_000 });
  await database.transaction(async (tx) => {
    const tasks = await tx.query<{ id: string }>(sql`
      INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, created_at)
      SELECT ${user.id}::uuid, 'Task ' || n, 'One of many.', 10, '{}', now() - n * interval '1 millisecond'
      FROM generate_series(1, 120) n RETURNING id`);
    for (const { id } of tasks) tx.ledger.hold(user.id, 10, { taskId: id });
  });
  await database.transaction((tx) => suspendUser(tx, service.services, { userId: user.id, by: "operator" }));
  const cancelled = async () => {
    const [row] = await database.query<{ count: number; transactions: number }>(sql`
      SELECT count(*)::int AS count, count(DISTINCT xmin::text)::int AS transactions FROM tasks
      WHERE buyer_id = ${user.id}::uuid AND status = 'cancelled'`);
    return row;
  };
  // One that always fails does not hold up the others.
  await service.owner.pool.query(`
    CREATE FUNCTION refuse_task() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stuck'; END $$;
    CREATE TRIGGER refuse_task BEFORE UPDATE ON tasks FOR EACH ROW
      WHEN (OLD.title = 'Task 7' AND OLD.buyer_id = '${user.id}') EXECUTE FUNCTION refuse_task()`);
  const [run] = await windDownAll();
  expect(run).toMatchObject({ status: "rejected", reason: { errors: [expect.any(Error)] } });
  expect(await cancelled()).toEqual({ count: 119, transactions: 119 });
  await service.owner.pool.query("DROP FUNCTION refuse_task CASCADE");
  await sweepOnce(service.services);
  expect(await cancelled()).toEqual({ count: 120, transactions: 120 });
  await database.transaction((tx) => reinstateUser(tx, service.services, { userId: user.id, by: "operator" }));
  await expectBooksToBalance(service);
});

test("a reinstated user's new tasks are not cancelled by what is left of the suspension", async () => {
  const user = await createPerson(service, { cents: 50_000 });
  const old = await postTask(user);
  await suspend(user);
  await reinstate(user);
  const { session } = await signIn(service, user);
  const posted = await rest(service.url, "POST", "/tasks", { body: taskInput(), credentials: session });
  await windDownAll();
  for (const { id } of [old, posted.body.task]) {
    expect((await rest(service.url, "GET", `/tasks/${id}`)).body.task.status).toBe("open");
  }
});

test("moderators find users by a part of the address or the name, or by the id", async () => {
  const user = await createPerson(service);
  await service.services.database.query(sql`
    UPDATE users SET display_name = 'Åsa 100%_Lind' WHERE id = ${user.id}::uuid`);
  const find = async (query: string) => {
    const { users } = (await moderator.get(`/users?query=${encodeURIComponent(query)}`)).body;
    return users.map(({ id }: { id: string }) => id);
  };
  for (const query of [user.email.toUpperCase(), "åSA", "100%_", user.id.toUpperCase()]) {
    expect(await find(query)).toEqual([user.id]);
  }
  expect(await find("100_%")).toEqual([]);
  const page = (await moderator.get("/users?limit=2")).body;
  expect(page.users).toHaveLength(2);
  expect(page.users[0].id).toBe(user.id);
  expect(page.nextCursor).toBe(page.users[1].createdAt);
});

test("a moderator with any bid on the task, even a withdrawn or rejected one, cannot decide its dispute", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 50_000 }), await createPerson(service)];
  const losers = await Promise.all([createPerson(service), createPerson(service)]);
  const task = await postTask(buyer);
  const [rejected, withdrawn] = [await placeBid(losers[0], task.id), await placeBid(losers[1], task.id)];
  await losers[1].post(`/bids/${withdrawn.id}/withdraw`);
  const { disputeId } = await disputeOn(buyer, bidder, task.id);
  expect((await buyer.get(`/bids/${rejected.id}`)).body.bid.status).toBe("rejected");
  for (const loser of losers) {
    await makeModerator(service, loser);
    expectError(await loser.post(`/disputes/${disputeId}/resolve`, { resolution: "refund" }), "forbidden");
  }
  const resolved = await moderator.post(`/disputes/${disputeId}/resolve`, { resolution: "refund", note: "Not done." });
  expect(resolved.status).toBe(200);
  const { actions } = (await moderator.get("/moderation/actions?limit=1")).body;
  expect(actions[0]).toMatchObject({ action: "resolve_dispute", disputeId, reason: "Not done.", user: null });
});

async function disputeOn(buyer: TestPerson, bidder: TestPerson, taskId: string): Promise<{ disputeId: string }> {
  const { database } = service.services;
  const bid = await placeBid(bidder, taskId);
  await buyer.post(`/tasks/${taskId}/award`, { bidId: bid.id });
  await database.query(sql`
    UPDATE tasks SET status = 'delivered', delivered_at = now(), acceptance_deadline_at = now() + interval '30 days'
    WHERE id = ${taskId}::uuid`);
  const answer = await buyer.post(`/tasks/${taskId}/dispute`, { reason: "This is not what we agreed on." });
  return { disputeId: answer.body.dispute.id };
}

test("the record of moderation cannot be changed, not even in the database", async () => {
  const { database } = service.services;
  await suspend(await createPerson(service));
  for (const statement of [
    sql`UPDATE moderation_actions SET reason = 'another'`,
    sql`DELETE FROM moderation_actions`,
    sql`TRUNCATE moderation_actions`,
  ]) {
    await expect(service.owner.query(statement)).rejects.toThrow("append-only");
    await expect(database.query(statement)).rejects.toThrow("permission denied");
  }
});
