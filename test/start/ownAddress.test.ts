import { expect, test } from "vitest";
import { ownAddress } from "../../server/start/ground.ts";

test("the embedded processor finds the service at any address that it listens on", () => {
  // On some systems "localhost" means ::1 only, so 127.0.0.1 would be refused.
  expect(ownAddress(null, 3000)).toBe("http://localhost:3000");
  expect(ownAddress("0.0.0.0", 3000)).toBe("http://localhost:3000");
  expect(ownAddress("::", 3000)).toBe("http://localhost:3000");
  expect(ownAddress("::1", 3000)).toBe("http://[::1]:3000");
  expect(ownAddress("192.168.1.5", 3000)).toBe("http://192.168.1.5:3000");
});
