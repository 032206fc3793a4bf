import { execFile } from "node:child_process";
import { cpSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { Services } from "../../server/services.ts";
import { createPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

/** One file … */
const praise = `
import { z } from "zod";
import { Id } from "../../schemas/common.ts";
import { signedIn } from "../../trpc.ts";

export const praise = signedIn
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/praise" },
    summary: "Praise a task",
    description: "Says something nice about a task.",
  })
  .input(z.strictObject({ id: Id, words: z.string().max(80).meta({ description: "The praise.", example: "Fine." }) }))
  .output(z.object({ praised: Id.meta({ description: "The task." }) }))
  .mutation(({ input }) => ({ praised: input.id }));
`;
/** … and one line in its router. */
const line = (router: string) => router.replace("router({", "router({ praise,");

/** The copy's messages take the place of this process' own, which the files after this one rely on. */
const settings = { ...z.config() };
/** The repository with one more procedure, and its generated files. */
let copy: string;
let url: string;
let stop: () => Promise<void>;
beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), "rebid-procedure-"));
  const isSource = (path: string) => !/node_modules|[\\/](dist|\.build|\.data)([\\/]|$)/.test(path);
  for (const name of [
    "server",
    "client-sdk",
    "openapi",
    "prisma",
    "test/setup",
    "package.json",
    ".biome.json",
    ".gitignore",
  ]) {
    cpSync(name, join(copy, name), { recursive: true, filter: isSource });
  }
  await symlink(join(process.cwd(), "node_modules"), join(copy, "node_modules"));
  await writeFile(join(copy, "server/procedures/tasks/praise.ts"), praise);
  const router = join(copy, "server/procedures/tasks/router.ts");
  await writeFile(router, `import { praise } from "./praise.ts";\n${line(await readFile(router, "utf8"))}`);
  for (const generator of ["openapi/generate.ts", "client-sdk/generate/run.ts"])
    await promisify(execFile)(process.execPath, [generator], { cwd: copy });

  const { createApp } = (await import(join(copy, "server/http/app.ts"))) as typeof import("../../server/http/app.ts");
  const listener: RequestListener = createApp(service.services satisfies Services, { trustProxy: false });
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
});
afterAll(async () => {
  z.config(settings);
  await stop?.();
  await rm(copy, { recursive: true, force: true });
});

const id = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";

test("one file and one line in its router add a procedure to REST and typed RPC", async () => {
  const person = await createPerson(service);
  const credentials = person.session;
  const overRest = await rest(url, "POST", `/tasks/${id}/praise`, { body: { words: "Fine." }, credentials });
  expect([overRest.status, overRest.body]).toEqual([200, { praised: id }]);
  expect((await rest(url, "POST", `/tasks/${id}/praise`, { body: {}, credentials })).body.error).toBe("invalid_input");
  const overRpc = await rest(url, "POST", "/trpc/tasks.praise", { body: { id, words: "Fine." }, credentials });
  expect(overRpc.body.result.data).toEqual({ praised: id });
});

test("and to the document, with names, and to the access matrix", async () => {
  const document = JSON.parse(await readFile(join(copy, "openapi/openapi.json"), "utf8"));
  expect(document.paths["/tasks/{id}/praise"].post).toMatchObject({
    operationId: "tasks_praise",
    description: expect.stringContaining("Says something nice about a task."),
    responses: { 200: {}, 400: {}, 401: {} },
  });
  expect(Object.keys(document.components.schemas)).toEqual(
    expect.arrayContaining(["PraiseTask", "PraiseTaskResponse"]),
  );
  const { routes } = (await import(join(copy, "test/setup/operations.ts"))) as typeof import("../setup/operations.ts");
  expect(routes.map(({ procedurePath }) => procedurePath)).toContain("tasks.praise");
});

test("and to the SDK, with its type and its documentation", async () => {
  const person = await createPerson(service);
  const { Rebid } = (await import(
    join(copy, "client-sdk/src/index.ts")
  )) as typeof import("../../client-sdk/src/index.ts");
  const { tasks } = new Rebid({ baseUrl: url, headers: { ...person.session } });
  const method: unknown = Reflect.get(tasks, "praise");
  if (typeof method !== "function") throw new Error("the SDK has no method for it");
  expect(await method.call(tasks, { id, words: "Fine." })).toEqual({ praised: id });
  const types = await readFile(join(copy, "client-sdk/src/generated/types.ts"), "utf8");
  expect(types).toMatch(
    /export interface PraiseTask \{[^}]*\/\*\* The praise\. Up to 80 characters\. \*\/\n\s*words: string;/,
  );
  const methods = await readFile(join(copy, "client-sdk/src/generated/namespaces.ts"), "utf8");
  expect(methods).toMatch(/Says something nice about a task\.[\s\S]{0,500} praise\(input: PraiseTask/);
});
