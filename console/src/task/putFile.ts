import { keyFor, settle } from "../api/idempotencyKeys.ts";

/** Types that some systems do not know by the name of the file. */
const typesByExtension: Record<string, string> = { md: "text/markdown", csv: "text/csv", json: "application/json" };

/** What a file is declared as. */
export const typeOf = ({ name, type }: File) =>
  type || (typesByExtension[name.split(".").at(-1)?.toLowerCase() ?? ""] ?? "application/octet-stream");

/** Sends a file straight to the object store. The address is signed: no cookie goes with it. */
function put(url: string, file: File, onProgress: (share: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.upload.onprogress = ({ loaded, total }) => onProgress(loaded / total);
    request.onload = () => (request.status < 300 ? resolve() : reject(new Error("the object store refused")));
    request.onerror = () => reject(new Error("no connection"));
    request.open("PUT", url);
    request.setRequestHeader("Content-Type", typeOf(file));
    request.send(file);
  });
}

interface Declared {
  id: string;
  mimeType: string;
  bytes: number;
  fileName: string;
}

interface Finalize {
  id: string;
  storageKey: string;
}

export interface Steps<Output> {
  /** What the file is for: a bid or a task. */
  id: string;
  init: (declared: Declared) => Promise<{ uploadUrl: string; storageKey: string }>;
  finalize: (input: Finalize, options: { context: { idempotencyKey: string } }) => Promise<Output>;
  /** The name of `finalize` over typed RPC. */
  operation: string;
}

/** Sends a file to the object store, in the first two steps of an upload. Returns its key. */
export async function sendFile<Output>(
  { id, init }: Pick<Steps<Output>, "id" | "init">,
  file: File,
  onProgress: (share: number) => void,
): Promise<string> {
  const { uploadUrl, storageKey } = await init({
    ...{ id, mimeType: typeOf(file), bytes: file.size, fileName: file.name },
  });
  await put(uploadUrl, file, onProgress);
  return storageKey;
}

/** Finishes an upload, and returns what the service made of it. */
export async function finishFile<Output>(
  { id, finalize, operation }: Omit<Steps<Output>, "init">,
  storageKey: string,
): Promise<Output> {
  const input = { id, storageKey };
  const output = await finalize(input, { context: { idempotencyKey: keyFor(operation, input) } });
  settle(operation, input);
  return output;
}

/** Sends a file in the three steps of an upload, and returns what the service made of it. */
export async function putFile<Output>(
  steps: Steps<Output>,
  file: File,
  onProgress: (share: number) => void,
): Promise<Output> {
  return finishFile(steps, await sendFile(steps, file, onProgress));
}
