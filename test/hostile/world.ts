import { encryptSessionId, sessionCookieName, startSession } from "../../server/auth/sessions.ts";
import { systemClock } from "../../server/gateways/clock.ts";
import { scopes } from "../../server/schemas/scope.ts";
import { sql } from "../../server/store/connection.ts";
import type { Database } from "../../server/store/database.ts";
import { addShared, putShared } from "../factories/conversation.ts";
import { tellAll } from "../factories/notifications.ts";
import { createKey, createPerson, type TestPerson } from "../factories/people.ts";
import {
  awardedTask,
  deliveredTask,
  disputedTask,
  placeBid,
  postTask,
  propose,
  taskInRound,
  upload,
} from "../factories/tasks.ts";
import type { Credentials } from "../setup/client.ts";
import { agreeOnChecks, askForApprovals, findKeyId, passOnChecks } from "./askedFor.ts";
import { type Known, pairPool } from "./values.ts";

const SESSION_COOKIE = sessionCookieName("http://127.0.0.1");
export const SESSION_SECRET = "a secret of the hostile requests that is long enough";

/** Everybody who sends requests. Most requests come from those whose credentials are good. */
export const goodCallers = ["buyer", "bidder", "stranger", "moderator", "buyerKey", "bidderKey"] as const;
export const otherCallers = [
  "anonymous",
  "noScopes",
  "oneScope",
  "ownOrigin",
  "otherSite",
  "suspended",
  "unknownKey",
  "malformedBearer",
  "basic",
  "bearerBeforeCookie",
  "brokenCookie",
  "foreignSeal",
  "twoCookies",
] as const;
export type Caller = (typeof goodCallers)[number] | (typeof otherCallers)[number];

type People = Record<"buyer" | "bidder" | "stranger" | "moderator" | "suspended", TestPerson>;

const POOL_SIZE = 400;
const NEWEST = 12;
/** More than the tasks of one refill cost: successful requests spend what is left. */
const REFILLED_CENTS = 200_000;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** People with credentials of every kind, and the ids of records in every state, which grow with every response. */
export class World {
  readonly url: string;
  readonly #database: Database;
  readonly #people: People;
  readonly #credentials: Record<Caller, Credentials>;
  readonly #pools = new Map<string, string[]>();

  private constructor(url: string, database: Database, people: People, credentials: Record<Caller, Credentials>) {
    this.url = url;
    this.#database = database;
    this.#people = people;
    this.#credentials = credentials;
    for (const { id, email, password } of Object.values(people)) {
      this.#add("users", id);
      this.#add("emails", email);
      this.#add("passwords", password);
    }
  }

  static async create(url: string, database: Database): Promise<World> {
    const service = { url, services: { database } };
    const person = (cents?: number) => createPerson(service, { cents });
    const buyer = await person(10_000_000_000);
    const bidder = await person(1_000_000);
    // Everyone who calls has money, so that nobody's account can be closed.
    const [stranger, moderator, suspended] = [await person(5_000), await person(5_000), await person()];
    await database.query(sql`UPDATE users SET role = 'moderator' WHERE id = ${moderator.id}::uuid`);
    await database.query(sql`UPDATE users SET suspended_at = now() WHERE id = ${suspended.id}::uuid`);
    const cookie = buyer.session.cookie ?? "";
    const credentials: Record<Caller, Credentials> = {
      buyer: buyer.session,
      bidder: bidder.session,
      stranger: stranger.session,
      moderator: moderator.session,
      buyerKey: buyer.key,
      bidderKey: bidder.key,
      anonymous: {},
      noScopes: await createKey(url, bidder.session, []),
      oneScope: await createKey(url, bidder.session, scopes.slice(0, 1)),
      ownOrigin: { ...stranger.session, origin: url },
      otherSite: { cookie, origin: "https://evil.example" },
      suspended: suspended.session,
      unknownKey: { authorization: `Bearer rb_live_${"A".repeat(22)}` },
      malformedBearer: { authorization: "Bearer \u00a0 x y" },
      basic: { authorization: "Basic cm9vdDpyb290" },
      bearerBeforeCookie: { authorization: "Bearer", cookie },
      brokenCookie: { cookie: `${SESSION_COOKIE}=%zz${"f".repeat(3_000)}; ${SESSION_COOKIE}` },
      foreignSeal: { cookie: `${SESSION_COOKIE}=${await encryptSessionId(crypto.randomUUID(), ["x".repeat(40)])}` },
      twoCookies: { cookie: `${SESSION_COOKIE}=; a=b; ${cookie}` },
    };
    const world = new World(url, database, { buyer, bidder, stranger, moderator, suspended }, credentials);
    // The embedded processor's own page, as a person would submit it: the buyer can be paid out from now on.
    const onboarding = await buyer.post("/payouts/onboarding");
    await fetch(onboarding.body.url, { method: "POST", body: new URLSearchParams({ outcome: "finishes" }) });
    await world.refill();
    return world;
  }

  userIds(): { buyer: string; bidder: string } {
    return { buyer: this.#people.buyer.id, bidder: this.#people.bidder.id };
  }

  credentialsOf(caller: Caller): Credentials {
    return this.#credentials[caller];
  }

  /** Half of all ids are the newest with one of the statuses, so that every status comes up, and is still true. */
  resolve = ({ pool, nth }: Known): string => {
    const all = this.#pools.get(pool) ?? [];
    const byStatus = [...this.#pools.keys()].filter((name) => name.startsWith(`${pool}:`)).sort();
    const status = byStatus[(nth >> 1) % byStatus.length];
    const ids = status !== undefined && nth % 2 === 0 ? (this.#pools.get(status) ?? []).slice(-NEWEST) : all;
    return ids[(nth >> 5) % ids.length] ?? "01890000-0000-7000-8000-00000000dead";
  };

  /** Adds records in every state, because successful requests use up the old ones. */
  async refill(): Promise<void> {
    const { buyer, bidder, stranger } = this.#people;
    await this.#database.transaction((tx) =>
      tx.ledger.deposit(buyer.id, "topup", REFILLED_CENTS, `refill ${crypto.randomUUID()}`),
    );
    const [user] = await this.#database.query<{ id: string }>(sql`
      INSERT INTO users (email, password_hash, display_name)
      VALUES (${`${crypto.randomUUID()}@example.com`}, '', 'To be suspended') RETURNING id`);
    if (user) this.#add("users", user.id);
    for (const status of ["open", "bids"]) {
      const task = await postTask(buyer);
      this.#add("tasks", task.id);
      if (status === "bids") for (const each of [bidder, stranger]) this.learn({ bid: await placeBid(each, task.id) });
    }
    for (const start of [awardedTask, awardedTask, deliveredTask, disputedTask]) {
      const { bid, ...records } = await start(buyer, bidder);
      this.learn({ bid, ...records });
      if (start !== awardedTask) continue;
      for (const kind of ["sample", "delivery"] as const) {
        this.#addKey(`/bids/{id}/${kind}/finalize`, bid.id, await upload(bidder, bid.id, kind));
      }
    }
    await this.#refillChangesOfMind();
    await this.#refillTalk();
    await this.#refillAskedFor();
    // As a worker would, of which this service has none.
    await tellAll({ services: { database: this.#database, clock: systemClock, mail: null } });
    for (const { get } of [buyer, bidder]) this.learn((await get("/notifications")).body);
    const accepted = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${accepted.task.id}/accept`);
    const cancelled = await postTask(buyer);
    this.learn((await buyer.post(`/tasks/${cancelled.id}/cancel`)).body);
    this.learn({ task: { ...accepted.task, status: "accepted" }, bid: accepted.bid });
    for (const { post } of [buyer, bidder]) {
      const { body } = await post("/webhooks", { url: "https://93.184.216.34/", events: ["task.created"] });
      if (body?.id) this.#add("webhooks", body.id);
      const test = await post(`/webhooks/${body?.id}/test`);
      if (test.body?.delivery) this.#add("deliveries", test.body.delivery.id);
    }
  }

  /** Tasks in a round of changes and with rounds left, and agreements that the other side may answer. */
  async #refillChangesOfMind(): Promise<void> {
    const { buyer, bidder } = this.#people;
    this.learn(await deliveredTask(buyer, bidder, { revisions: 2 }));
    this.learn(await taskInRound(buyer, bidder));
    for (const by of [buyer, bidder]) {
      const { task, bid } = await awardedTask(buyer, bidder);
      this.learn({ task, bid, agreement: await propose(by, task.id) });
    }
  }

  /** Files of a brief and of a conversation, to be finalised and to be removed, and messages to be read. */
  async #refillTalk(): Promise<void> {
    const { buyer, bidder } = this.#people;
    const task = await postTask(buyer);
    this.learn({ task });
    const file = await addShared(buyer, `/tasks/${task.id}`);
    this.#addPair("/tasks/{id}/files/{fileId}", task.id, file.id);
    const { storageKey } = await putShared(buyer, `/tasks/${task.id}`);
    this.#addKey("/tasks/{id}/files/finalize", task.id, storageKey);
    const { bid } = await awardedTask(buyer, bidder);
    this.learn({ bid });
    this.#addKey("/bids/{id}/files/finalize", bid.id, (await putShared(bidder, `/bids/${bid.id}`)).storageKey);
    for (const from of [buyer, bidder]) {
      const { body } = await from.post(`/bids/${bid.id}/messages`, { text: "Which Finnish?" });
      this.#addPair("/bids/{id}/messages/read", bid.id, body.message.id);
    }
  }

  /** Approvals that wait for their owner, and deliveries that are checked. */
  async #refillAskedFor(): Promise<void> {
    const { buyer, bidder } = this.#people;
    const keyId = await findKeyId(this.#database, this.#credentials.buyerKey);
    const { records, pairs } = await askForApprovals(this.url, buyer);
    for (const record of records) this.learn(record);
    const checked = keyId === null ? [] : await agreeOnChecks(this.url, buyer, bidder, keyId);
    for (const { path, first, second } of [...pairs, ...checked]) this.#addPair(path, first, second);
  }

  /** Remembers the ids in a response's body: those of `task` or `tasks` as tasks, and a bare `id` as `kind`. */
  learn(body: unknown, kind = "any"): void {
    if (typeof body !== "object" || body === null) return;
    for (const [name, value] of Object.entries(body)) {
      if (name === "id" && typeof value === "string" && uuid.test(value)) {
        this.#add(kind, value);
        if ("status" in body && typeof body.status === "string") this.#move(kind, value, body.status);
        const isActiveBid = "priceCents" in body && "status" in body && body.status === "active";
        if (isActiveBid && "taskId" in body && typeof body.taskId === "string") {
          this.#addPair("/tasks/{id}/award", body.taskId, value);
        }
      } else if (name === "storageKey" && typeof value === "string") this.#add("storageKeys", value);
      else if (name === "nextCursor" && typeof value === "string") this.#add("timestamps", value);
      else if (Array.isArray(value)) for (const item of value.slice(0, 5)) this.learn(item, name);
      else if (typeof value === "object") this.learn(value, name === "awardedBid" ? "bids" : pluralOf(name));
    }
  }

  /** Gives a caller who should be let in new credentials, after its session or key was ended by a successful request. */
  async renew(caller: Caller): Promise<void> {
    const [name] =
      caller === "ownOrigin" ? ["stranger" as const] : caller === "twoCookies" ? ["buyer" as const] : [caller];
    if (name === "buyerKey" || name === "bidderKey") {
      const owner = this.#people[name === "buyerKey" ? "buyer" : "bidder"];
      const old = this.#credentials[name];
      this.#credentials[name] = await createKey(this.url, await this.#sessionOf(owner.id));
      await passOnChecks(this.#database, old, this.#credentials[name]);
      return;
    }
    if (name !== "buyer" && name !== "bidder" && name !== "stranger" && name !== "moderator") return;
    const session = await this.#sessionOf(this.#people[name].id);
    this.#credentials[name] = session;
    Object.assign(this.#people[name].session, session); // the factories call with it
    if (name === "stranger") this.#credentials.ownOrigin = { ...session, origin: this.url };
    if (name === "buyer") {
      this.#credentials.twoCookies = { cookie: `${SESSION_COOKIE}=; a=b; ${session.cookie}` };
      this.#credentials.otherSite = { ...session, origin: "https://evil.example" };
    }
  }

  async #sessionOf(userId: string): Promise<Credentials> {
    const sessionId = await this.#database.transaction((tx) => startSession(tx, userId, new Date()));
    return { cookie: `${SESSION_COOKIE}=${encodeURIComponent(await encryptSessionId(sessionId, [SESSION_SECRET]))}` };
  }

  #addKey(path: string, id: string, key: string): void {
    this.#add("storageKeys", key);
    this.#addPair(path, id, key);
  }

  #addPair(path: string, first: string, second: string): void {
    for (const [place, id] of [
      ["first", first],
      ["second", second],
    ] as const) {
      const pool = pairPool(path, place);
      this.#pools.set(pool, [...(this.#pools.get(pool) ?? []), id].slice(-NEWEST));
    }
  }

  #move(kind: string, id: string, status: string): void {
    for (const [name, ids] of this.#pools) {
      if (name.startsWith(`${kind}:`))
        this.#pools.set(
          name,
          ids.filter((other) => other !== id),
        );
    }
    const name = `${kind}:${status}`;
    this.#pools.set(name, [...(this.#pools.get(name) ?? []), id].slice(-POOL_SIZE));
  }

  #add(pool: string, id: string): void {
    // The callers themselves must not be suspended.
    if (Object.values(this.#people).some((person) => person.id === id)) return;
    for (const name of [pool, "any"]) {
      const ids = this.#pools.get(name) ?? [];
      this.#pools.set(name, ids);
      // The newest replace the oldest, so that there are always some whose state is early.
      if (!ids.includes(id) && ids.push(id) > POOL_SIZE) ids.shift();
      if (["emails", "passwords", "storageKeys", "timestamps"].includes(pool)) return;
    }
  }
}

function pluralOf(name: string): string {
  return name.endsWith("y") ? `${name.slice(0, -1)}ies` : name.endsWith("s") ? name : `${name}s`;
}
