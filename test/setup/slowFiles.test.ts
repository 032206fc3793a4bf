import { expect, test } from "vitest";
import { slowFiles } from "./slowFiles.ts";

test("npm run test:fast leaves out what starts a process or a browser, itself or through a helper, and nothing else", () => {
  const slow = slowFiles();
  for (const file of ["docs/firstTask", "commands/seed", "console/account", "start/roles", "testClock/advance"])
    expect(slow).toContain(`test/${file}.test.ts`);
  for (const file of ["imports", "lifecycle/lifecycle", "store/ledger/movements", "http/rest"])
    expect(slow).not.toContain(`test/${file}.test.ts`);
});
