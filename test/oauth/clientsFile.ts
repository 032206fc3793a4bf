import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** A file for `OAUTH_CLIENTS`, for as long as the test file runs. */
export function clientsFile(clients: object[]): string {
  const folder = mkdtempSync(join(tmpdir(), "rebid-clients-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "clients.json");
  writeFileSync(file, JSON.stringify(clients));
  return file;
}

export const app = {
  client_id: "test-app",
  client_name: "Test App",
  redirect_uris: ["https://app.example/callback", "http://127.0.0.1/callback"],
};
export const otherApp = { client_id: "other-app", client_name: "Other", redirect_uris: ["https://other.example/cb"] };
