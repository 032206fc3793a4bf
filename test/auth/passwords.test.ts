import { expect, test, vi } from "vitest";
import { hashPassword, verifyPassword } from "../../server/auth/passwords.ts";

// The real work takes 18 ms of a core, 258 times.
vi.mock("@node-rs/argon2", () => ({
  hash: async (password: string) => `hash of ${password}`,
  verify: async (hash: string, password: string) => {
    if (hash === "corrupt") throw new Error("not a hash");
    return hash === `hash of ${password}`;
  },
}));

test("a queue that is full refuses the logins of that moment, and no later one", async () => {
  const queued = Array.from({ length: 258 }, () => hashPassword("a password"));
  await expect(verifyPassword(null, "a password")).rejects.toMatchObject({ code: "unavailable" });
  const hashes = await Promise.all(queued);

  expect(await verifyPassword(null, "a password")).toBe(false);
  expect(await verifyPassword(hashes[0] ?? null, "a password")).toBe(true);
  expect(await verifyPassword(hashes[0] ?? null, "another password")).toBe(false);
});

test("a hash that is corrupt verifies nothing", async () => {
  expect(await verifyPassword("corrupt", "a password")).toBe(false);
});
