import { type Answer, type Call, callOf } from "./call.ts";
import { type List, listOf } from "./list.ts";
import type { RequestOptions, TryOptions } from "./options.ts";
import type { Method } from "./request.ts";
import type { Safety } from "./retries.ts";
import type { Transport } from "./transport.ts";

/** What the methods of the namespaces are made of: one request each. */
export class Requests {
  readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  read<Output>(path: string, input: object, options: RequestOptions): Call<Output> {
    return this.#send("GET", path, input, options, "read");
  }

  /** A read whose answer the service may hold back for so many seconds, which come on top of the time-out. */
  readWaiting<Output>(waitSeconds: number, path: string, input: object, options: RequestOptions): Call<Output> {
    const { timeoutMs = this.transport.timeoutMs } = options;
    return this.read(path, input, { ...options, timeoutMs: timeoutMs + waitSeconds * 1000 });
  }

  /** A list with a cursor; `field` has the items of a page. */
  readList<Item, Page>(path: string, field: string, input: object, options: RequestOptions): List<Item, Page> {
    return listOf<Item, Page, object>(
      input,
      (query) => this.read<Page>(path, query, options),
      (page) => {
        // JSON has no type; the procedure's, which proof.ts compares with the server's, has these fields.
        const { nextCursor, [field]: items } = page as Record<string, unknown>;
        return { items: items as Item[], nextCursor: nextCursor as string | null };
      },
    );
  }

  /** A change that can be repeated with its `Idempotency-Key`. */
  change<Output>(method: Method, path: string, input: object, options: TryOptions): Call<Output> {
    return this.#send(method, path, input, options, "keyed");
  }

  /** A change for which the service takes no `Idempotency-Key`. */
  changeUnkeyed<Output>(method: Method, path: string, input: object, options: RequestOptions): Call<Output> {
    return this.#send(method, path, input, options, "unkeyed");
  }

  #send<Output>(method: Method, path: string, input: object, options: TryOptions, safety: Safety): Call<Output> {
    const answer = this.transport.send({ method, path, input, options, safety });
    return callOf(answer as Promise<Answer<Output>>); // as above: JSON has no type
  }
}

/** The base of the generated namespaces. */
export abstract class Namespace {
  protected readonly requests: Requests;

  constructor(requests: Requests) {
    this.requests = requests;
  }
}
