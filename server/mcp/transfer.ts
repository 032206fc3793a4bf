import { StorageUnavailable } from "../gateways/storageErrors.ts";

/** A small file takes milliseconds; an object store that needs longer is as good as unreachable. */
const TIMEOUT_MS = 10_000;

/** Uploads a file to a signed address, as the API's clients do. @throws StorageUnavailable */
export async function putFile(uploadUrl: string, mimeType: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const headers = { "content-type": mimeType };
  const response = await request(uploadUrl, { method: "PUT", headers, body: bytes });
  await response.body?.cancel();
}

/** Downloads a file of this size from a signed address. @throws StorageUnavailable */
export async function getFile(downloadUrl: string): Promise<Buffer> {
  const response = await request(downloadUrl, { method: "GET" });
  return Buffer.from(await response.arrayBuffer().catch(unavailable));
}

async function request(url: string, init: RequestInit): Promise<Response> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, { ...init, redirect: "error", signal }).catch(unavailable);
  if (!response.ok) throw new StorageUnavailable(new Error(`the object store answered ${response.status}`));
  return response;
}

function unavailable(cause: unknown): never {
  throw new StorageUnavailable(cause);
}
