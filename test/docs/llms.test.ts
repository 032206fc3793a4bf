import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { createKey, createPerson, type TestPerson } from "../factories/people.ts";
import { taskInput } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { blocksIn, builtDocs } from "./blocks.ts";

const service = useService();
const run = promisify(execFile);

let folder: string;
beforeAll(async () => {
  folder = await builtDocs();
});

/** What a person on the other side does meanwhile: awards the first bid, and accepts what is delivered. */
async function buy(buyer: TestPerson, cursor: string): Promise<void> {
  const waitFor = async (type: string) => {
    return (await buyer.get(`/events?after=${cursor}&types=${type}&wait=30`)).body.events[0].data;
  };
  const { task, bid } = await waitFor("bid.received");
  await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
  await waitFor("delivery.posted");
  await buyer.post(`/tasks/${task.id}/accept`);
}

test("an agent that follows llms.txt with an address and a key earns its first cent in at most 12 requests", async () => {
  const agent = await createPerson(service);
  const credentials = await createKey(service.url, agent.session, ["bid:write"]);
  const buyer = await createPerson(service, { cents: 20_000 });
  // An earlier bid of the agent's was rejected: its event is not the one to wait for.
  const earlier = await buyer.post("/tasks", taskInput());
  await agent.post(`/tasks/${earlier.body.task.id}/bids`, { priceCents: 100, etaHours: 1 });
  expect((await buyer.post(`/tasks/${earlier.body.task.id}/cancel`)).status).toBe(200);
  const { nextCursor } = (await buyer.get("/events?after=latest")).body;
  expect((await buyer.post("/tasks", taskInput())).status).toBe(201);
  const buying = buy(buyer, nextCursor);

  const { text } = await rest(service.url, "GET", "/llms.txt");
  expect(text).toBe(await readFile(join(folder, "llms.txt"), "utf8"));
  const steps = blocksIn(text);
  const directory = await mkdtemp(join(tmpdir(), "rebid-agent-"));
  const result = "# Lounas\n\nLohikeitto\n";
  await writeFile(join(directory, "result.md"), result);

  // What the agent has read in earlier answers, by the names that the text gives to it.
  const known: Record<string, string> = {
    api: service.url,
    key: credentials.authorization?.replace("Bearer ", "") ?? "",
    bytes: String(Buffer.byteLength(result)),
  };
  let requests = 0;
  // biome-ignore lint/suspicious/noExplicitAny: the answers of all steps, read as an agent reads them
  const answers: any[] = [];
  for (const { code } of steps) {
    for (let answer = null; answer === null || (code.includes("wait=30") && answer.events.length === 0); ) {
      requests++;
      // The shell's curl fails where the text's would print an error.
      const script = `curl() { command curl -sS --fail-with-body "$@"; }\n${code}`;
      const { stdout } = await run("bash", ["-c", script], { cwd: directory, env: { ...process.env, ...known } });
      answer = stdout === "" ? {} : JSON.parse(stdout);
      answers.push(answer);
    }
    const answer = answers.at(-1);
    known.task ??= answer.tasks?.[0].id;
    known.bid ??= answer.bid?.id;
    known.uploadUrl ??= answer.uploadUrl;
    known.storageKey ??= answer.storageKey;
    if (answer.events !== undefined) known.cursor = answer.nextCursor;
    for (const name of Object.keys(known)) if (known[name] === undefined) delete known[name];
  }
  await buying;
  await rm(directory, { recursive: true });
  expect(steps).toHaveLength(10);
  expect(requests).toBeLessThanOrEqual(12);
  expect(answers[1].availableActions).toContain("bids.place");
  const told = answers.flatMap(({ events = [] }) => events).map(({ type, data }) => [type, data.bid?.id ?? known.bid]);
  expect(told).toEqual([
    ["task.awarded", known.bid],
    ["task.accepted", known.bid],
  ]);
  expect(answers.at(-1).entries[0]).toMatchObject({ kind: "task_earning", amountCents: 500 });
});

test("llms.txt says where a key comes from, what each scope is for, what ends a wait, and how to buy", async () => {
  const { text } = await rest(service.url, "GET", "/llms.txt");
  for (const [about, words] of [
    ["where a person makes a key", /open `\/app\/keys`.*click “Create the key”/s],
    ["that a bidder's key cannot rate or dispute", /rate and dispute, on either side \| `task:write`/],
    ["what a rejection means", /`bid\.rejected` means that\s+another bid won, or that the task was cancelled/],
    ["what follows a dispute", /After\s+`task\.disputed`.*`task\.dispute_resolved`/s],
    ["the tools", /at `\/mcp` as tools/],
    ["the buyer's way", /## Have work done.*POST \/tasks`.*\/award`.*\/accept`.*\/dispute`.*\/rate`/s],
  ] as const)
    expect(text, about).toMatch(words);
  const visited = await rest(service.url, "GET", "/app/keys");
  expect(visited.status).toBe(200);
});

test("llms.txt lists every guide and operation as Markdown that exists, and llms-full.txt has the guides themselves", async () => {
  const { text } = await rest(service.url, "GET", "/llms.txt");
  const links = [...text.matchAll(/\]\((\/[^)#]+)/g)].map(([, path = ""]) => path);
  expect(links.length).toBeGreaterThan(60);
  for (const path of new Set(links)) {
    const answer = await rest(service.url, "HEAD", path);
    expect([path, answer.status]).toEqual([path, 200]);
    if (path.endsWith(".md")) expect(answer.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
  }
  const full = await rest(service.url, "GET", "/llms-full.txt");
  expect(full.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  for (const title of ["# Errors", "# Webhooks", "# Money and states", "# The contract"])
    expect(full.text).toContain(`\n${title}\n`);
});
