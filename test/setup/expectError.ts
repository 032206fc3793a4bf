import { expect } from "vitest";
import { ErrorBody, type ErrorCode, errorCatalogue } from "../../server/errors.ts";
import type { Answer } from "./client.ts";

const documentedFields = new Set(Object.keys(ErrorBody.shape));

/** Asserts the one shape of errors: the documented fields and no others, and nothing internal. */
export function expectErrorBody(body: Record<string, unknown>, code: ErrorCode): void {
  expect(body).toMatchObject({ error: code, message: expect.any(String), requestId: expect.any(String) });
  expect(body.requestId).not.toBe("");
  expect(Object.keys(body).filter((field) => !documentedFields.has(field))).toEqual([]);
  expect(JSON.stringify(body)).not.toMatch(/node_modules|\.ts:\d|\n\s+at |prisma|postgres|zod/i);
}

/** Asserts a REST response with this code, its status, and the request id in body and header. */
export function expectError(answer: Answer, code: ErrorCode): void {
  expect(answer.text).not.toMatch(/^\s*</);
  expect(answer.headers.get("content-type")).toMatch(/^application\/json\b/);
  expectErrorBody(answer.body, code);
  expect(answer.status).toBe(errorCatalogue[code].status);
  expect(answer.headers.get("x-request-id")).toBe(answer.body.requestId);
}

/** The paths that the issues of an `invalid_input` name, sorted and each once. */
export function issuePaths(body: { issues?: { path: string }[] }): string[] {
  return [...new Set((body.issues ?? []).map(({ path }) => path))].sort();
}
