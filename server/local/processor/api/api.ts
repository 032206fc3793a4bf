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

interface ApiResponse {
  status: number;
  body: string;
  headers: Record<string, string>;
  /** Resets the connection instead of sending the response. */
  reset?: true;
}

interface Target {
  route: Route;
  id: string;
  owner: string;
}

const KEY_LIFETIME_MS = 24 * 3_600_000;

/** Handles requests to Stripe's API, v1 and v2. */
export class Api {
  readonly #world: World;
  readonly #routes: readonly Route[];
  readonly #settings: { secretKey: string };
  /** Idempotency keys whose first request is still being processed. */
  readonly #inProgress = new Set<string>();

  constructor(world: World, routes: readonly Route[], settings: { secretKey: string }) {
    this.#world = world;
    this.#routes = routes;
    this.#settings = settings;
  }

  async handle(request: ApiRequest): Promise<ApiResponse> {
    const headers = { "Request-Id": `req_${randomBytes(7).toString("hex")}`, "Stripe-Version": apiVersion };
    try {
      const response = await this.#respond(request);
      return { ...response, headers: { ...headers, ...response.headers } };
    } catch (error) {
      if (error instanceof Refusal) return { ...refused(error), headers };
      throw error;
    }
  }

  async #respond(request: ApiRequest): Promise<ApiResponse> {
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

  /**
   * Runs `work` with a simulated fault, which happens instead of it or after it. `work` is one uninterrupted
   * transaction.
   */
  async #withFault(fault: CallFault | null, request: ApiRequest, work: () => ApiResponse): Promise<ApiResponse> {
    switch (fault) {
      case "timeout_before":
        await request.clientGone;
        return resetResponse;
      case "timeout_after":
        work();
        await request.clientGone;
        return resetResponse;
      case "reset_before":
        return resetResponse;
      case "reset_after":
        work();
        return resetResponse;
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

  #execute({ route, id, owner }: Target, request: ApiRequest): ApiResponse {
    const execute = route.prepare(rawParameters(request));
    return success(this.#world.store.transaction(() => execute({ world: this.#world, id, owner })));
  }

  /**
   * Executes a request once per idempotency key. The response is stored in the transaction of the work and replayed for
   * 24 hours. v1 also stores errors that occur during execution; in v2 the same key can be tried again. A request with
   * invalid parameters is not executed, and its key is not stored.
   */
  #executeOnce({ route, id, owner }: Target, request: ApiRequest, key: string): ApiResponse {
    const { store } = this.#world;
    const hash = hashOf(request);
    const since = this.#world.realMs() - KEY_LIFETIME_MS;
    store.run("delete from idempotency_keys where owner = ? and key = ? and created_ms < ?", owner, key, since);
    const [stored] = store.rows("select * from idempotency_keys where owner = ? and key = ?", owner, key);
    if (stored !== undefined) {
      if (stored.request_hash !== hash) throw keyReused(key);
      const headers = { "Idempotent-Replayed": "true", "Idempotency-Key": key };
      return { status: Number(stored.status), body: String(stored.body), headers };
    }

    const execute = route.prepare(rawParameters(request));
    const remember = (response: ApiResponse): ApiResponse => {
      const sql =
        "insert into idempotency_keys (owner, key, request_hash, status, body, created_ms) values (?, ?, ?, ?, ?, ?)";
      store.run(sql, owner, key, hash, response.status, response.body, this.#world.realMs());
      return { ...response, headers: { "Idempotency-Key": key } };
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
    const isKey = (known: string) => timingSafeEqual(sha256(key), sha256(known));
    if (!this.#settings.secretKey.split(",").some(isKey)) {
      throw new Refusal(401, { message: "Invalid API Key provided.", type: "invalid_request_error" });
    }
  }
}

const resetResponse: ApiResponse = { status: 0, body: "", headers: {}, reset: true };

function success(result: unknown): ApiResponse {
  return { status: 200, body: JSON.stringify(result), headers: {} };
}

function refused(refusal: Refusal): ApiResponse {
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
