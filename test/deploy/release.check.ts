import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { json } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { copyTrackedFiles, linkInstallation } from "../../openapi/release/copies.ts";
import { readManifest } from "../../openapi/release/versions.ts";
import { machineEnvironment } from "../install/processes.ts";

const checkout = join(import.meta.dirname, "../..");
const run = promisify(execFile);

const Workflow = z.object({
  permissions: z.record(z.string(), z.string()),
  jobs: z.object({
    release: z.object({
      steps: z.array(
        z.object({
          run: z.string().optional(),
          env: z.record(z.string(), z.string()).default({}),
          uses: z.string().optional(),
        }),
      ),
    }),
  }),
});

/** What npm sends to publish a package. */
const Publication = z.looseObject({
  name: z.string(),
  access: z.string(),
  versions: z.record(z.string(), z.looseObject({ repository: z.record(z.string(), z.string()) })),
  _attachments: z.record(z.string(), z.object({ length: z.number() })),
});

/** A registry that has nothing, and keeps what is published with the right token. */
async function startRegistry(token: string) {
  const published = new Map<string, z.infer<typeof Publication>>();
  const server = createServer(async (request, response) => {
    const name = decodeURIComponent((request.url ?? "/").slice(1).replace(/\?.*/, ""));
    const send = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
    if (request.headers.authorization !== `Bearer ${token}`) return send(401, { error: "who are you?" });
    if (request.method !== "PUT") {
      const found = published.get(name);
      return found === undefined ? send(404, { error: "not found" }) : send(200, found);
    }
    if (published.has(name)) return send(409, { error: "there already" });
    published.set(name, Publication.parse(await json(request)));
    send(201, { ok: true });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return { published, address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test("the steps of release.yaml, one after the other and twice, publish both packages and four files once, and leave the Python client for PyPI", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rebid-pipeline-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const copy = join(folder, "rebid");
  await copyTrackedFiles(checkout, copy);
  await linkInstallation(checkout, copy);
  await run("git", ["init", "--quiet"], { cwd: copy });
  await run("git", ["add", "--all"], { cwd: copy });

  const token = "npm_0123456789";
  const { published, address } = await startRegistry(token);
  // What actions/setup-node writes, for our registry.
  await writeFile(join(folder, "npmrc"), `registry=http://${address}/\n//${address}/:_authToken=\${NODE_AUTH_TOKEN}\n`);
  // Stands for GitHub's program: it says what it is asked to do, and knows of no release.
  const bin = join(folder, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "gh"), `#!/bin/sh\necho "$@" >>"${folder}/gh.log"\n[ "$2" != view ]\n`);
  await chmod(join(bin, "gh"), 0o755);
  const { version } = await readManifest(checkout);
  const machine = machineEnvironment();
  const runner = {
    ...machine,
    PATH: [bin, machine.PATH].join(delimiter),
    GITHUB_REF_NAME: `v${version}`,
    GITHUB_SERVER_URL: "https://github.example",
    GITHUB_REPOSITORY: "ada/rebid",
    npm_config_userconfig: join(folder, "npmrc"),
    npm_config_registry: `http://${address}/`,
  };
  const variables: Record<string, string> = { "github.token": "gh_0123456789", "secrets.NPM_TOKEN": token };

  const workflow = Workflow.parse(parse(await readFile(join(checkout, "deploy/release.yaml"), "utf8")));
  const steps = workflow.jobs.release.steps.filter((step) => step.run !== undefined && step.run !== "npm ci");
  expect(steps.length).toBe(5);
  const play = async (script = "", env: Record<string, string>) => {
    const own = Object.entries(env).map(([name, value]) => [
      name,
      value.replaceAll(/\$\{\{ ([\w.]+) \}\}/g, (_, variable) => variables[variable] ?? "unknown"),
    ]);
    await run("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", script], {
      cwd: copy,
      // Only GitHub can vouch for a run of its own.
      env: { ...runner, ...Object.fromEntries(own), NPM_CONFIG_PROVENANCE: "false" },
    });
  };
  for (const step of steps) await play(step.run, step.env);
  for (const step of steps.slice(-2)) await play(step.run, step.env);

  expect(workflow.permissions).toEqual({ contents: "write", "id-token": "write" });
  expect(steps.at(-1)?.env).toMatchObject({ NPM_CONFIG_PROVENANCE: "true" });
  const repository = { type: "git", url: "git+https://github.example/ada/rebid.git" };
  expect([...published.keys()].toSorted()).toEqual(["@rebid/mcp", "@rebid/sdk"]);
  for (const each of published.values()) {
    expect(each.access).toBe("public");
    expect(each.versions).toMatchObject({ [version]: { repository } });
    for (const { length } of Object.values(each._attachments)) expect(length).toBeGreaterThan(1_000);
  }
  const files = [`rebid-${version}.tar.gz`, `rebid-mcp-${version}.tgz`, `rebid-sdk-${version}.tgz`];
  expect((await readdir(join(copy, ".build/release"))).toSorted()).toEqual(["python", ...files]);
  const wheel = `rebid-${version}-py3-none-any.whl`;
  expect((await readdir(join(copy, ".build/release/python"))).toSorted()).toEqual([wheel, `rebid-${version}.tar.gz`]);
  const uploads = (await readFile(join(folder, "gh.log"), "utf8"))
    .split("\n")
    .filter((line) => line.includes("upload"));
  expect(uploads.length).toBe(2);
  for (const file of [...files, `python/${wheel}`]) expect(uploads[0]).toContain(`.build/release/${file}`);

  await expect(play(steps[0]?.run, { GITHUB_REF_NAME: "v9.9.9" }), "a tag of another version").rejects.toThrow();
});
