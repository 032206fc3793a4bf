import { expect, test } from "vitest";
import { operatorSettings, runScript } from "../setup/commandProcess.ts";

test("the seed, whose password is well known, refuses to touch a production database", async () => {
  const service = {
    url: "https://rebid.test",
    databaseUrl: "postgres://nobody@127.0.0.1:1/nothing",
    services: { settings: { sessionSecrets: ["a secret of the tests of 32 characters or more"] } },
  };
  const result = await runScript("seed", [], { NODE_ENV: "production", ...operatorSettings(service) });
  expect(result).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining("Refused with NODE_ENV=production") });
});
