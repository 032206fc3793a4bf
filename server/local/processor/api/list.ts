import { type Kind, type Objects, platform } from "../model/objects.ts";
import { invalidRequest, Refusal } from "../model/refusal.ts";
import type { Filter } from "../model/store.ts";
import type { World } from "../model/world.ts";
import type { Call } from "./call.ts";

/** The parameters of every v1 list. */
export const pageParameters = ["limit", "starting_after", "ending_before", "created", "expand"] as const;

interface ListParameters {
  limit?: number;
  starting_after?: string;
  ending_before?: string;
  created?: number | { gt?: number; gte?: number; lt?: number; lte?: number };
  expand?: string[];
}

/** Returns a page of a v1 list, newest first: 10 objects by default, at most 100. */
export function listPage<K extends Kind>(
  { world, owner }: Call<unknown>,
  kind: K,
  url: string,
  parameters: ListParameters,
  equal: Record<string, string | undefined> = {},
  otherFilters: Filter[] = [],
): unknown {
  const { limit = 10, starting_after: after, ending_before: before, created } = parameters;
  if (limit < 1 || limit > 100) throw invalidRequest("parameter_invalid_integer", `Invalid limit: ${limit}`, "limit");
  const filters = [...otherFilters, ...createdFilters(created)];
  for (const [name, value] of Object.entries(equal)) {
    if (value !== undefined) filters.push({ path: `$.${name}`, operator: "=", value });
  }
  for (const cursor of [after, before]) if (cursor !== undefined) world.store.get(kind, cursor, owner);
  const { data, hasMore } = world.store.list(kind, owner, { filters, limit, after, before });
  const list = { object: "list", url, has_more: hasMore, data };
  return expanded(world, list, parameters.expand);
}

/** Returns a page of a v2 list. `next_page_url` links to the next page; its `page` is the last id on this one. */
export function v2Page<K extends Kind>(
  { world, parameters }: Call<{ limit?: number; page?: string }>,
  kind: K,
  path: string,
  filters: Filter[],
): { data: Objects[K][]; next_page_url: string | null; previous_page_url: null } {
  const { limit = 20, page: after } = parameters;
  if (limit < 1 || limit > 100) throw new Refusal(400, { code: "invalid_fields", message: `Invalid limit: ${limit}` });
  const { data, hasMore } = world.store.list(kind, platform, { filters, limit, after });
  const last = data.at(-1)?.id;
  const next =
    hasMore && last !== undefined ? `${path}?${new URLSearchParams({ limit: `${limit}`, page: last })}` : null;
  return { data, next_page_url: next, previous_page_url: null };
}

function createdFilters(created: ListParameters["created"]): Filter[] {
  if (created === undefined) return [];
  if (typeof created === "number") return [{ path: "$.created", operator: "=", value: created }];
  const operators = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
  const filters: Filter[] = [];
  for (const name of ["gt", "gte", "lt", "lte"] as const) {
    const value = created[name];
    if (value !== undefined) filters.push({ path: "$.created", operator: operators[name], value });
  }
  return filters;
}

/** Replaces ids with the objects they refer to, along paths such as `payment_intent.latest_charge`. */
export function expanded(world: World, object: unknown, paths: string[] = []): unknown {
  const copy: unknown = structuredClone(object);
  for (const path of paths) expandPath(world, copy, path.split("."), path);
  return copy;
}

function expandPath(world: World, object: unknown, [name = "", ...rest]: string[], path: string): void {
  if (Array.isArray(object)) {
    for (const item of object) expandPath(world, item, [name, ...rest], path);
    return;
  }
  if (!isRecord(object) || !(name in object)) {
    throw invalidRequest("property_cannot_be_expanded", `This property cannot be expanded (${path}).`, "expand");
  }
  const value = object[name];
  const related = typeof value === "string" ? (world.store.findAny(value) ?? value) : value;
  object[name] = related;
  if (rest.length > 0 && related !== null) expandPath(world, related, rest, path);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
