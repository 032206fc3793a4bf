import { expect, test, vi } from "vitest";
import { hashPassword, verifyPassword } from "../../server/auth/passwords.ts";

// Real hashes would take 258 times 18 ms of a core.
vi.mock("@node-rs/argon2", () => ({
  hash: async (password: string) => `hash of ${password}`,
  verify: async (hash: string, password: string) => {
    if (hash === "corrupt") throw new Error("not a hash");
    return hash === `hash of ${password}`;
  },
}));

test("a full queue refuses logins, and accepts them again later", async () => {
  const queued = Array.from({ length: 258 }, () => hashPassword("a password"));
  await expect(verifyPassword(null, "a password")).rejects.toMatchObject({ code: "unavailable" });
  const hashes = await Promise.all(queued);

  expect(await verifyPassword(null, "a password")).toBe(false);
  expect(await verifyPassword(hashes[0] ?? null, "a password")).toBe(true);
  expect(await verifyPassword(hashes[0] ?? null, "another password")).toBe(false);
});

test("a corrupt hash matches no password", async () => {
  expect(await verifyPassword("corrupt", "a password")).toBe(false);
});
