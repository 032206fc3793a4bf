import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { neededEvents } from "../../server/commands/doctor/processor.ts";
import { Environment } from "../../server/environment.ts";
import { errorCatalogue } from "../../server/errors.ts";
import { tools } from "../../server/mcp/tools/table.ts";
import { eventTypes, logEventTypes } from "../../server/schemas/event.ts";
import { scopes } from "../../server/schemas/scope.ts";
import { builtDocs } from "./blocks.ts";

/** The Markdown of a guide, with everything that it includes. */
const guide = async (name: string) => readFile(`${await builtDocs()}/${name}.md`, "utf8");

/** What stands in the first column of tables, in backticks. */
function rowsOf(markdown: string): string[] {
  const cells = [...markdown.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = ""]) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}

test("Errors has every code of the catalogue, and no other", async () => {
  const described = [...(await guide("errors")).matchAll(/^### `(\w+)`$/gm)].map(([, code]) => code);
  expect(described.toSorted()).toEqual(Object.keys(errorCatalogue).toSorted());
});

test("The event log has every event, and says which ones webhooks send", async () => {
  const rows = [...(await guide("events")).matchAll(/^\| `([\w.]+)` \|.*\| (yes|) ?\|$/gm)];
  expect(rows.map(([, type]) => type).toSorted()).toEqual(logEventTypes.toSorted());
  expect(
    rows
      .filter(([, , isSent]) => isSent === "yes")
      .map(([, type]) => type)
      .toSorted(),
  ).toEqual(eventTypes.toSorted());
});

test("Webhooks has every event that they send", async () => {
  expect(rowsOf(await guide("webhooks")).toSorted()).toEqual(eventTypes.toSorted());
});

test("The Model Context Protocol has every tool", async () => {
  const named = [...(await guide("mcp")).matchAll(/^\|.*\|$/gm)].flatMap(([row]) => [...row.matchAll(/`(\w+)`/g)]);
  expect(named.map(([, name]) => name).toSorted()).toEqual(tools.map(({ name }) => name).toSorted());
});

test("Authentication has every scope", async () => {
  const rows = rowsOf(await guide("authentication")).filter((name) => name.includes(":") && !name.includes(" "));
  expect(rows.toSorted()).toEqual(scopes.toSorted());
});

test("Production reference has every setting", async () => {
  const settings = rowsOf(await guide("production-reference")).filter((name) => /^[A-Z][A-Z0-9_]+$/.test(name));
  expect(settings.toSorted()).toEqual(Object.keys(Environment.shape).toSorted());
});

test("Run it in production has every event that Stripe must send, by destination", async () => {
  const rows = [
    ...(await guide("production")).matchAll(/^\| (your account|connected accounts) \| (\w+) \| (.+) \|$/gm),
  ];
  const listed = rows.map(([, whose, payload, types = ""]) => ({
    whose: `${whose}${payload === "thin" ? ", as thin events" : ""}`,
    types: [...types.matchAll(/`([^`]+)`/g)].map(([, type]) => type),
  }));
  expect(listed).toEqual(neededEvents.map(({ whose, types }) => ({ whose, types })));
});
