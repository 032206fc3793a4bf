import { readFile } from "node:fs/promises";
import { Rebid, webhooks } from "@rebid/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { useService } from "../../setup/testService.ts";
import { failureOf, noPauses } from "../clients.ts";
import { type HostileProxy, type Step, startHostileProxy } from "./hostileProxy.ts";

/** One line of the list that the clients of both languages are run through. `npm run check:python` runs the other one. */
interface Behaviour {
  name: string;
  steps?: Step[];
  /** `namespace.method`, as TypeScript names it. */
  call?: string;
  input?: object;
  options?: object;
  upload?: { bidId: string; content: string; mimeType: string; fileName: string };
  follow?: { take: number; after: string };
  verify?: { body: string; header: string; secret: string; nowSeconds: number };
  /** `sign` makes the same header. */
  signs?: boolean;
  result?: object;
  fails?: { class: string };
  events?: string[];
  cursor?: string;
  pausesMs?: number[];
  requests?: number;
  /** Of the requests' `Idempotency-Key`s: `none`, `one` that all have, or this one. */
  keys?: string;
  paths?: string[];
  bodies?: unknown[];
  authorized?: boolean[];
  answerHeaders?: Record<string, string>;
}

const behaviours: Behaviour[] = JSON.parse(await readFile(new URL("behaviours.json", import.meta.url), "utf8"));

const service = useService();
let proxy: HostileProxy;
let buyer: TestPerson;

beforeAll(async () => {
  proxy = await startHostileProxy(() => service.url);
  buyer = await createPerson(service, { cents: 10_000 });
});

afterAll(() => proxy.close());

type Method = (input: object, options?: object) => PromiseLike<object>;

/** Does what a behaviour says, and returns what came of it. */
async function run(rebid: Rebid, behaviour: Behaviour): Promise<object> {
  const { call, input = {}, options = {}, upload, follow, verify } = behaviour;
  if (verify !== undefined) {
    const { body, header, secret, nowSeconds } = verify;
    return await webhooks.verify(body, header, secret, { now: new Date(nowSeconds * 1000) });
  }
  if (upload !== undefined) {
    const { bidId, content, ...details } = upload;
    return await rebid.bids.uploadDelivery(bidId, Buffer.from(content), details);
  }
  if (follow !== undefined) {
    const events = rebid.events.follow({ after: follow.after });
    const ids: string[] = [];
    for await (const event of events) if (ids.push(event.id) === follow.take) break;
    return { ids, cursor: events.cursor };
  }
  const [namespace = "", verb = ""] = (call ?? "").split(".");
  const methods = Reflect.get(rebid, namespace) as Record<string, Method>; // the list names only what there is
  const takesInput = "input" in behaviour || call !== "wallet.read";
  const answer = takesInput ? methods[verb]?.(input, options) : methods[verb]?.(options);
  return (await (answer as unknown as { withResponse(): Promise<{ data: object }> }).withResponse()) ?? {};
}

test.each(behaviours)("in TypeScript: $name", async (behaviour) => {
  const { pausesMs, timing } = noPauses();
  proxy.play(behaviour.steps ?? []);
  const apiKey = buyer.key.authorization?.replace("Bearer ", "");
  const rebid = new Rebid({ baseUrl: proxy.url, apiKey, timing });
  const outcome = run(rebid, behaviour);
  const error = await failureOf(outcome);
  if (behaviour.fails !== undefined) {
    const { class: name, ...details } = behaviour.fails;
    expect(error).toMatchObject({ ...details, name });
  } else {
    expect(error).toBeUndefined();
    checkAnswer(behaviour, await outcome);
  }
  checkRequests(behaviour);
  if (behaviour.pausesMs !== undefined) expect(pausesMs).toEqual(behaviour.pausesMs);
  const { verify } = behaviour;
  if (behaviour.signs && verify !== undefined) {
    const [signedAt = ""] = /\d+/.exec(verify.header) ?? [];
    expect(await webhooks.sign(verify.body, verify.secret, { now: new Date(Number(signedAt) * 1000) })).toBe(
      verify.header,
    );
  }
});

function checkAnswer({ result, call, events, cursor, answerHeaders = {} }: Behaviour, outcome: object): void {
  if (events !== undefined) expect(outcome).toEqual({ ids: events, cursor });
  if (result !== undefined) expect(call === undefined ? outcome : Reflect.get(outcome, "data")).toMatchObject(result);
  for (const [name, value] of Object.entries(answerHeaders))
    expect(Reflect.get(outcome, "headers").get(name)).toBe(value);
}

function checkRequests({ requests = 0, keys, paths, bodies, authorized }: Behaviour): void {
  const received = proxy.requests;
  expect(received).toHaveLength(requests);
  if (keys !== undefined) {
    const sent = new Set(received.map(({ headers }) => headers["idempotency-key"]));
    if (keys === "none") expect(sent).toEqual(new Set([undefined]));
    else if (keys === "one") expect([...sent]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
    else expect([...sent]).toEqual([keys]);
  }
  if (paths !== undefined) expect(received.map(({ method, path }) => `${method} ${path}`)).toEqual(paths);
  if (bodies !== undefined)
    expect(received.map(({ body }) => (body.startsWith("{") ? JSON.parse(body) : body))).toEqual(bodies);
  if (authorized !== undefined)
    expect(received.map(({ headers }) => headers.authorization !== undefined)).toEqual(authorized);
}
