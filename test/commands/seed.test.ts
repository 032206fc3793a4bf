import { expect, test } from "vitest";
import { TaskStatus } from "../../server/schemas/task.ts";
import { rest } from "../setup/client.ts";
import { operatorSettings, runScript } from "../setup/commandProcess.ts";
import { useProcesses } from "../setup/serviceProcess.ts";

const { start, preparedDirectory } = useProcesses();

test("the seed makes tasks in every state, and prints where each of them is", async () => {
  const directory = await preparedDirectory();
  const service = await start({ DATA_DIR: directory });
  await service.ready();
  const seeded = await runScript("seed", [], { DATA_DIR: directory });
  expect([seeded.code, seeded.stderr]).toEqual([0, ""]);
  const printed = [...seeded.stdout.matchAll(/^ {2}(\w+) .*\/app\/tasks\/(\S+)/gm)].map(async ([, stage, id]) => {
    const { body } = await rest(service.url, "GET", `/tasks/${id}`);
    return [stage, body.task.status];
  });
  const states = await Promise.all(printed);
  for (const [stage, status] of states) expect(status).toBe(stage === "rated" ? "accepted" : stage);
  expect(new Set(states.map(([, status]) => status))).toEqual(new Set(TaskStatus.options));
  expect((await runScript("audit", [], { DATA_DIR: directory })).code).toBe(0);
});

test("the seed, whose password is well known, refuses to touch a production database", async () => {
  const service = {
    url: "https://rebid.test",
    databaseUrl: "postgres://nobody@127.0.0.1:1/nothing",
    services: { settings: { sessionSecrets: ["a secret of the tests of 32 characters or more"] } },
  };
  const result = await runScript("seed", [], { NODE_ENV: "production", ...operatorSettings(service) });
  expect(result).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining("Refused with NODE_ENV=production") });
});
