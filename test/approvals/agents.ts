import { expect } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { type Answer, type Credentials, rest } from "../setup/client.ts";
import type { TestService } from "../setup/testService.ts";

/** An API key that has to ask its owner. */
export interface TestAgent {
  keyId: string;
  credentials: Credentials & { authorization: string };
  post(path: string, body?: object, key?: string, headers?: Record<string, string>): Promise<Answer>;
  patch(path: string, body: object, key?: string): Promise<Answer>;
  get(path: string): Promise<Answer>;
}

const everything = ["task:write", "bid:write", "payouts:write", "agreement:write", "message:write", "check:write"];

export async function createAgent(
  service: TestService,
  owner: TestPerson,
  aboveCents: number | null,
  limits: object = {},
): Promise<TestAgent> {
  const approval = aboveCents === null ? {} : { approval: { aboveCents } };
  const made = await owner.post("/keys", { label: "agent", scopes: everything, ...approval, ...limits });
  expect(made.status).toBe(201);
  const credentials = { authorization: `Bearer ${made.body.raw}` };
  const call =
    (method: "POST" | "PATCH") =>
    (path: string, body: object = {}, key?: string, headers: Record<string, string> = {}) =>
      rest(service.url, method, path, {
        ...{ body, credentials },
        headers: { ...(key === undefined ? {} : { "idempotency-key": key }), ...headers },
      });
  return {
    ...{ keyId: made.body.id, credentials, post: call("POST"), patch: call("PATCH") },
    get: (path) => rest(service.url, "GET", path, { credentials }),
  };
}

/** Somebody with money, and their agent. */
export async function ownerAndAgent(service: TestService, aboveCents: number | null, limits: object = {}) {
  const owner = await createPerson(service, { cents: 100_000 });
  return { owner, agent: await createAgent(service, owner, aboveCents, limits) };
}

/** Of an answer that asks. */
export function askedIn(answer: Pick<Answer, "status" | "body">): { id: string; url: string; expiresAt: string } {
  expect([answer.status, answer.body.error]).toEqual([403, "approval_required"]);
  return answer.body.approval;
}

export const readApproval = async (owner: TestPerson, id: string) =>
  (await owner.get(`/approvals/${id}`)).body.approval;

/** Approves it as it is now. */
export async function approve(owner: TestPerson, id: string, more: object = {}): Promise<Answer> {
  const { version } = await readApproval(owner, id);
  return owner.post(`/approvals/${id}/approve`, { seen: version, ...more });
}
