/** Returns null for a broken % escape. */
export function decodeEscapes(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Maximum number of calls in one request. Source: docs/contract.md "Conventions". */
export const MAX_BATCH_SIZE = 20;

/** Whether a path is one of typed RPC. Express takes it in any case. */
export const isRpcPath = (path: string): boolean => /^\/trpc(\/|$)/i.test(path);

/** The names in what follows `/trpc/`: those of a batch have commas between them. tRPC decodes them before it splits, too. */
export const callNamesOf = (names: string): string[] => (decodeEscapes(names) ?? names).split(",");
