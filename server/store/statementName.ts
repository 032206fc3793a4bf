const names = new Map<string, string>();
/** As many texts as there are combinations of optional clauses; beyond that, names are made anew. */
const MAX_NAMES = 1_000;

/**
 * Says what a statement is for, in a few words for a span: its verb and the first table, or function, that it names, such as
 * `INSERT events` or `SELECT advance_event_log`.
 */
export function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = nameOf(text);
  if (names.size < MAX_NAMES) names.set(text, name);
  return name;
}

function nameOf(text: string): string {
  const verbs = [...text.matchAll(/\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b/g)];
  // What changes something says more than what is read on the way, and the outermost comes last after a WITH.
  const change = verbs.find(([verb]) => verb !== "SELECT") ?? verbs[0];
  if (change === undefined) return text.trim().split(/\s/, 1)[0] ?? "";
  const verb = change[0].split(" ")[0] ?? "";
  const rest = text.slice(change.index + change[0].length);
  const named = verb === "SELECT" ? /\bFROM\s+(?:ONLY\s+)?([\w.]+)|\b([\w.]+)\(/.exec(rest) : /^\s+([\w.]+)/.exec(rest);
  return `${verb} ${named?.[1] ?? named?.[2] ?? ""}`.trim();
}
