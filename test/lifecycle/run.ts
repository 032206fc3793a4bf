import { expect } from "vitest";
import type { Route } from "../../server/http/routes.ts";
import { cookieOf, fund } from "../factories/people.ts";
import type { Credentials } from "../setup/client.ts";
import { type Call, type Input, type Outcome, routeOf } from "../setup/operations.ts";
import type { TestService } from "../setup/testService.ts";
import { type Caller, lifecycle } from "./steps.ts";

/** One call of the lifecycle: the input that was sent, and the response. */
export interface Played extends Outcome {
  name: string;
  route: Route;
  input: Input;
}

/** Plays the whole lifecycle over one transport. Fails at a step whose outcome is not the described one. */
export async function playLifecycle(service: TestService, call: Call, run: string): Promise<Played[]> {
  const answers: Record<string, unknown> = {};
  const credentials = new Map<Caller, Credentials>([["nobody", {}]]);
  const played: Played[] = [];

  for (const step of lifecycle) {
    if ("fund" in step) {
      const { user } = answers[step.fund] as { user: { id: string } }; // the answer to signing up
      await fund(service, user.id, step.cents);
      continue;
    }
    if ("put" in step) {
      const headers = { "content-type": step.mimeType };
      const response = await fetch(String(lookUp(answers, step.put)), { method: "PUT", headers, body: step.content });
      expect([step.name, response.status]).toEqual([step.name, 200]);
      continue;
    }
    const input = fill(step.input ?? {}, answers, run) as Input;
    const route = routeOf(step.call);
    const outcome = await call(service.url, route, input, credentials.get(step.as) ?? {});
    const code = outcome.status < 400 ? undefined : outcome.body.error;
    expect([step.name, code], JSON.stringify(outcome.body)).toEqual([step.name, step.error]);
    answers[step.name] = outcome.body;
    played.push({ name: step.name, route, input, ...outcome });
    if (step.call === "auth.signup" && step.error === undefined) {
      credentials.set(step.as, cookieOf(outcome));
    }
    if (step.name === "key") credentials.set("buyer's key", { authorization: `Bearer ${outcome.body.raw}` });
  }
  return played;
}

function fill(value: unknown, answers: object, run: string): unknown {
  if (typeof value === "string") return value.startsWith("$") ? lookUp(answers, value) : value.replace("PERSON", run);
  if (Array.isArray(value)) return value.map((item) => fill(item, answers, run));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner, answers, run)]));
}

/** `"$task.task.id"`: the field `task.id` of the response to the step `task`. */
function lookUp(answers: object, reference: string): unknown {
  const found = reference
    .slice(1)
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], answers);
  if (found === undefined) throw new Error(`${reference} is not in the answers`);
  return found;
}

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const timestamp = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z/g;
const varyingFields = new Set(["requestId", "raw", "last4", "sessionId", "checkoutUrl", "uploadUrl", "downloadUrl"]);

/**
 * A run's responses without what differs between runs: ids are numbered in the order in which they first appear, so
 * that the same id stays the same; timestamps become "TIME", and secrets and URLs become their type.
 */
export function normalised(played: Played[], run: string): unknown[] {
  const ids = new Map<string, string>();
  const text = (value: string) =>
    value
      .replaceAll(run, "RUN")
      .replace(timestamp, "TIME")
      .replace(uuid, (id) => {
        if (!ids.has(id)) ids.set(id, `ID-${ids.size + 1}`);
        return ids.get(id) ?? id;
      });
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return text(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        // The two transports' clients call themselves differently.
        .filter(([key]) => key !== "externalRef" && key !== "userAgent")
        .map(([key, inner]) => [key, varyingFields.has(key) ? typeof inner : walk(inner)]),
    );
  };
  return played.map(({ name, status, body }) => ({ name, status, body: walk(body) }));
}
