import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Acknowledgement } from "../crash/load.ts";
import { cookieOf } from "../factories/people.ts";
import { taskInput } from "../factories/tasks.ts";
import { type Credentials, rest } from "../setup/client.ts";

const POST_EVERY_MS = 100;
/** Longer than any answer should take; then the request is repeated. */
const PATIENCE_MS = 20_000;
const RETRY_PAUSE_MS = 250;
/** For each request that waits, so that all of them together repeat no more than 50 times a second, however long it takes. */
const RETRY_PAUSE_EACH_MS = 20;
/** The most that one top-up takes: a task of one cent every 0.1 s for almost three hours. */
const BALANCE_CENTS = 100_000;

interface Success {
  at: number;
  /** When the request that got it was first sent. */
  sentAt: number;
  /** An earlier attempt had done it, and its answer was lost. */
  isReplayed: boolean;
}

/**
 * A buyer who posts a task every 0.1 s, whatever became of those before, and repeats each with its `Idempotency-Key` until
 * it is acknowledged; who follows the event log from one cursor to the next; and who has a webhook.
 */
export class Observer {
  readonly acknowledged: Acknowledgement[] = [];
  readonly successes: Success[] = [];
  /** Answers other than 201 and a 503 with `Retry-After` in the API's shape. */
  readonly surprises: string[] = [];
  unavailable = 0;
  /** The tasks in the order of the event log, and those that the webhook was told of. */
  readonly followed: string[] = [];
  readonly told = new Set<string>();
  id = "";
  readonly #url: string;
  readonly #receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk;
    });
    request.on("end", () => {
      this.told.add(JSON.parse(body).data.task.id);
      response.end();
    });
  });
  #session: Credentials = {};
  #cursor = "";
  #isPosting = false;
  #isFollowing = true;
  #pending: Promise<void>[] = [];
  #waiting = 0;
  #following: Promise<void> = Promise.resolve();

  constructor(url: string) {
    this.#url = url;
  }

  async open(processorUrl: string): Promise<void> {
    const body = { email: "observer@example.com", password: "correct horse battery", displayName: "Observer" };
    const signUp = await this.#ask("POST", "/auth/signup", body);
    this.id = signUp.body.user.id;
    this.#session = cookieOf(signUp);
    this.acknowledged.push({ kind: "signup", userId: this.id, email: body.email });
    const { sessionId } = (await this.#ask("POST", "/wallet/topup", { amountCents: BALANCE_CENTS })).body;
    this.acknowledged.push({ kind: "topup", userId: this.id, sessionId, amountCents: BALANCE_CENTS });
    await rest(processorUrl, "POST", `/test/checkout/${sessionId}/pay`, { body: { outcome: "pays" } });
    while ((await this.#ask("GET", "/wallet")).body.availableCents !== BALANCE_CENTS) await sleep(100);
    await new Promise<void>((resolve) => this.#receiver.listen(0, "127.0.0.1", resolve));
    const { port } = this.#receiver.address() as AddressInfo;
    await this.#ask("POST", "/webhooks", { url: `http://127.0.0.1:${port}/`, events: ["task.created"] });
    this.#cursor = (await this.#ask("GET", "/events?after=latest")).body.nextCursor;
    this.#following = this.#follow();
  }

  async #ask(method: string, path: string, body?: object) {
    const answer = await rest(this.#url, method, path, { body, credentials: this.#session });
    if (answer.status >= 300) throw new Error(`${method} ${path} returned ${answer.status}: ${answer.text}`);
    return answer;
  }

  async post(): Promise<void> {
    this.#isPosting = true;
    for (; this.#isPosting; await sleep(POST_EVERY_MS)) this.#pending.push(this.#insist());
  }

  /** Resolves when each task that was begun is acknowledged. */
  async stop(): Promise<void> {
    this.#isPosting = false;
    await Promise.all(this.#pending.splice(0));
  }

  /** Sends one request until its outcome is known. */
  async #insist(): Promise<void> {
    this.#waiting++;
    const sentAt = Date.now();
    const options = {
      body: taskInput({ maxBudgetCents: 1 }),
      credentials: this.#session,
      headers: { "idempotency-key": crypto.randomUUID() },
    };
    for (;;) {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const answer = await rest(this.#url, "POST", "/tasks", { ...options, signal }).catch(() => null);
      if (answer?.status === 201) {
        const isReplayed = answer.headers.get("idempotent-replayed") === "true";
        this.successes.push({ at: Date.now(), sentAt, isReplayed });
        const taskId: string = answer.body.task.id;
        this.acknowledged.push({ kind: "post", taskId, buyerId: this.id, budgetCents: 1 });
        this.#waiting--;
        return;
      }
      if (answer?.status === 503 && answer.body?.error === "unavailable" && answer.headers.has("retry-after"))
        this.unavailable++;
      else if (answer !== null) this.surprises.push(`posting returned ${answer.status}: ${answer.text}`);
      const retryAfterMs = 1000 * Number(answer?.headers.get("retry-after") ?? 0);
      await sleep(Math.max(RETRY_PAUSE_MS, retryAfterMs, RETRY_PAUSE_EACH_MS * this.#waiting));
    }
  }

  async #follow(): Promise<void> {
    while (this.#isFollowing) {
      const path = `/events?after=${this.#cursor}&limit=100&wait=2`;
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const answer = await rest(this.#url, "GET", path, { credentials: this.#session, signal }).catch(() => null);
      if (answer?.status === 200) {
        for (const event of answer.body.events)
          if (event.type === "task.created") this.followed.push(event.data.task.id);
        this.#cursor = answer.body.nextCursor;
        continue;
      }
      if (answer !== null && answer.status !== 503)
        this.surprises.push(`following returned ${answer.status}: ${answer.text}`);
      await sleep(RETRY_PAUSE_MS);
    }
  }

  get tasks(): string[] {
    return this.acknowledged.flatMap((one) => (one.kind === "post" ? [one.taskId] : []));
  }

  async close(): Promise<void> {
    this.#isFollowing = false;
    await this.#following;
    this.#receiver.closeAllConnections();
    this.#receiver.close();
  }
}
