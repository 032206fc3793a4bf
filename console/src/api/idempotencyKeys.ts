/** A key that no answer has settled is used again for this long. The service itself keeps answers for 24 hours. */
const LIFETIME_MS = 3_600_000;
const STORAGE_KEY = "rebid.unsettled";

interface Entry {
  key: string;
  createdAt: number;
}

/**
 * The keys of changes whose outcome is not known: under way, or without an answer. The same change gets the same key, also
 * after a reload, so pressing a button again never does anything twice.
 */
const unsettled = new Map<string, Entry>(restore());

/** Returns the key for this change, the same one until `settle` is called. */
export function keyFor(operation: string, input: unknown): string {
  const name = nameOf(operation, input);
  const entry = unsettled.get(name) ?? { key: crypto.randomUUID(), createdAt: Date.now() };
  unsettled.set(name, entry);
  persist();
  return entry.key;
}

/** The outcome is known: the same input from now on means another change. */
export function settle(operation: string, input: unknown): void {
  unsettled.delete(nameOf(operation, input));
  persist();
}

const nameOf = (operation: string, input: unknown) => `${operation} ${JSON.stringify(input ?? null)}`;

function restore(): [string, Entry][] {
  try {
    const kept: [string, Entry][] = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "[]");
    return kept.filter(([, { createdAt }]) => Date.now() - createdAt < LIFETIME_MS);
  } catch {
    return [];
  }
}

function persist(): void {
  // Inputs of accounts contain passwords: they stay in memory.
  const entries = [...unsettled].filter(([name]) => !name.startsWith("auth."));
  try {
    sessionStorage.setItem(STORAGE_KEY, JSON.stringify(entries));
  } catch {
    // Storage is full or forbidden: keys are then lost with a reload, and nothing else.
  }
}
