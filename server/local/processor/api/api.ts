import { randomBytes, timingSafeEqual } from "node:crypto";
import type { CallFault } from "../model/choices.ts";
import { takeCallFault } from "../model/faults.ts";
import { Refusal } from "../model/refusal.ts";
import type { World } from "../model/world.ts";
import {
  type ApiRequest,
  findOwner,
  findRoute,
  hashOf,
  isV2,
  rawParameters,
  requireKey,
  requireVersion,
  sha256,
} from "./apiRequest.ts";
import type { Route } from "./call.ts";
import { apiVersion } from "./parameters.ts";

interface ApiAnswer {
  status: number;
  body: string;
  headers: Record<string, string>;
  /** Resets the connection instead of answering. */
  reset?: true;
}

interface Target {
  route: Route;
  id: string;
  owner: string;
}

const keyLifetimeMs = 24 * 3_600_000;

/** Answers calls of Stripe's API, v1 and v2. */
export class Api {
  readonly #world: World;
  readonly #routes: readonly Route[];
  readonly #secretKey: string;
  /** Idempotency keys whose first request is still being processed. */
  readonly #inProgress = new Set<string>();

  constructor(world: World, routes: readonly Route[], secretKey: string) {
    this.#world = world;
    this.#routes = routes;
    this.#secretKey = secretKey;
  }

  async answer(request: ApiRequest): Promise<ApiAnswer> {
    const headers = { "Request-Id": `req_${randomBytes(7).toString("hex")}`, "Stripe-Version": apiVersion };
    try {
      const answer = await this.#answer(request);
      return { ...answer, headers: { ...headers, ...answer.headers } };
    } catch (error) {
      if (error instanceof Refusal) return { ...refused(error), headers };
      throw error;
    }
  }

  async #answer(request: ApiRequest): Promise<ApiAnswer> {
    this.#authenticate(request.headers.authorization);
    requireVersion(request);
    const target = { ...findRoute(this.#routes, request), owner: findOwner(this.#world, request) };
    const key = request.method === "POST" ? requireKey(request) : null;
    const fault = takeCallFault(this.#world, `${request.method} ${request.url.pathname}`);
    if (key === null) return await this.#withFault(fault, request, () => this.#execute(target, request));

    const slot = `${target.owner} ${key}`;
    if (this.#inProgress.has(slot)) throw keyInUse(key);
    this.#inProgress.add(slot);
    try {
      return await this.#withFault(fault, request, () => this.#executeOnce(target, request, key));
    } finally {
      this.#inProgress.delete(slot);
    }
  }

  /** Does the work before the fault, or not at all. `work` itself is one uninterrupted transaction. */
  async #withFault(fault: CallFault | null, request: ApiRequest, work: () => ApiAnswer): Promise<ApiAnswer> {
    switch (fault) {
      case "timeout_before":
        await request.clientGone;
        return resetAnswer;
      case "timeout_after":
        work();
        await request.clientGone;
        return resetAnswer;
      case "reset_before":
        return resetAnswer;
      case "reset_after":
        work();
        return resetAnswer;
      case "conflict":
        throw keyInUse("chosen by a fault");
      case "rate_limit":
        throw new Refusal(429, { message: "Too many requests hit the API too quickly.", code: "rate_limit" });
      case "no_permission":
        throw new Refusal(403, {
          message: "The provided key does not have the required permissions for this endpoint.",
          code: "more_permissions_required",
          type: "invalid_request_error",
        });
      case "server_error":
        throw serverError();
      case "server_error_after":
        work();
        throw serverError();
      case null:
        return work();
    }
  }

  #execute({ route, id, owner }: Target, request: ApiRequest): ApiAnswer {
    const execute = route.prepare(rawParameters(request));
    return success(this.#world.store.transaction(() => execute({ world: this.#world, id, owner })));
  }

  /**
   * Executes a request once per idempotency key. The answer is stored in the transaction of the work and replayed for 24
   * hours. v1 also stores errors that occur during execution; in v2 the same key can be tried again. A request with
   * invalid parameters is not executed, and its key is not stored.
   */
  #executeOnce({ route, id, owner }: Target, request: ApiRequest, key: string): ApiAnswer {
    const { store } = this.#world;
    const hash = hashOf(request);
    const since = this.#world.nowMs() - keyLifetimeMs;
    store.run("delete from idempotency_keys where owner = ? and key = ? and created_ms < ?", owner, key, since);
    const [stored] = store.rows("select * from idempotency_keys where owner = ? and key = ?", owner, key);
    if (stored !== undefined) {
      if (stored.request_hash !== hash) throw keyReused(key);
      const headers = { "Idempotent-Replayed": "true", "Idempotency-Key": key };
      return { status: Number(stored.status), body: String(stored.body), headers };
    }

    const execute = route.prepare(rawParameters(request));
    const remember = (answer: ApiAnswer): ApiAnswer => {
      const sql =
        "insert into idempotency_keys (owner, key, request_hash, status, body, created_ms) values (?, ?, ?, ?, ?, ?)";
      store.run(sql, owner, key, hash, answer.status, answer.body, this.#world.nowMs());
      return { ...answer, headers: { "Idempotency-Key": key } };
    };
    try {
      return store.transaction(() => remember(success(execute({ world: this.#world, id, owner }))));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return isV2(request) ? refused(error) : remember(refused(error));
    }
  }

  #authenticate(header: string | undefined): void {
    const [scheme = "", credentials = ""] = header?.split(" ") ?? [];
    const key = scheme === "Basic" ? Buffer.from(credentials, "base64").toString().replace(/:$/, "") : credentials;
    if (key === "") {
      throw new Refusal(401, { message: "You did not provide an API key.", type: "invalid_request_error" });
    }
    if (!timingSafeEqual(sha256(key), sha256(this.#secretKey))) {
      throw new Refusal(401, { message: "Invalid API Key provided.", type: "invalid_request_error" });
    }
  }
}

const resetAnswer: ApiAnswer = { status: 0, body: "", headers: {}, reset: true };

function success(result: unknown): ApiAnswer {
  return { status: 200, body: JSON.stringify(result), headers: {} };
}

function refused(refusal: Refusal): ApiAnswer {
  return { status: refusal.status, body: JSON.stringify(refusal.body), headers: {} };
}

function keyInUse(key: string): Refusal {
  const message = `There is currently another in-progress request using this Idempotent Key: ${key}.`;
  return new Refusal(409, { code: "idempotency_key_in_use", message, type: "idempotency_error" });
}

function keyReused(key: string): Refusal {
  const message = `This idempotency key was first used with other parameters: ${key}.`;
  return new Refusal(400, { message, type: "idempotency_error" });
}

function serverError(): Refusal {
  return new Refusal(500, { message: "An unknown error occurred.", type: "api_error" });
}
