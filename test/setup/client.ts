import { createTRPCClient, httpLink, TRPCClientError } from "@trpc/client";
import type { AppRouter } from "../../server/procedures/router.ts";

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came back, and asserts what it is
  body: any;
  text: string;
}

/** The headers that authenticate a caller: a cookie or a bearer token; empty for an anonymous caller. */
export type Credentials = Record<string, string>;

/** One REST request as any client in any language would send it. */
export async function rest(
  url: string,
  method: string,
  path: string,
  options: { body?: unknown; credentials?: Credentials; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    redirect: "manual",
    signal: options.signal,
    headers: {
      ...(options.body !== undefined && { "content-type": "application/json" }),
      ...options.credentials,
      ...options.headers,
    },
    body: options.body === undefined ? undefined : JSON.stringify(options.body),
  });
  const text = await response.text();
  const isJson = text !== "" && response.headers.get("content-type")?.startsWith("application/json");
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : undefined, text };
}

/** A typed RPC client as a front-end team would create it. */
export function rpc(url: string, credentials: Credentials = {}) {
  return createTRPCClient<AppRouter>({ links: [httpLink({ url: `${url}/trpc`, headers: credentials })] });
}

/** Returns the documented error of a failed RPC call, or undefined when it did not fail. */
export async function rpcError(call: Promise<unknown>) {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (!(error instanceof TRPCClientError)) throw error;
    const response: unknown = error.meta?.response;
    return { status: response instanceof Response ? response.status : undefined, body: error.data };
  }
}
