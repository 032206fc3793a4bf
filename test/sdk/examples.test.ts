import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { webhooks } from "@rebid/sdk";
import { afterEach, expect, test } from "vitest";
import { exampleEvent } from "../../server/webhooks/sample.ts";
import { awardedWithChecks, deliverJudged, externalCheck, reportingKey } from "../factories/checks.ts";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { hasBrowser, sharedBrowser } from "../setup/browser.ts";
import { compileCache } from "../setup/compileCache.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ settings: { trustLocalhost: true } });
const running: ChildProcess[] = [];

afterEach(() => {
  for (const child of running.splice(0)) child.kill();
});

/** Starts an example as its comment says. */
function start(name: string, variables: Record<string, string | undefined>) {
  const parameters = ["--conditions=@rebid/source", `client-sdk/examples/${name}.ts`];
  const child = spawn(process.execPath, parameters, { env: { PATH: process.env.PATH, ...compileCache, ...variables } });
  running.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { output: () => output, ended };
}

test("a buyer's agent and a bidder's agent finish a task with each other", async () => {
  const [ada, bo] = await Promise.all([createPerson(service, { cents: 100_000 }), createPerson(service)]);
  const keyOf = (person: typeof ada) => person.key.authorization?.replace("Bearer ", "");
  const earlier = await postTask(ada, { tags: ["shouting"], title: "An earlier one" });
  const bidder = start("bidder", { REBID_URL: service.url, REBID_API_KEY: keyOf(bo) });
  await expect.poll(bidder.output).toMatch("“An earlier one”");
  const buyer = start("buyer", { REBID_URL: service.url, REBID_API_KEY: keyOf(ada), TEXT: "good morning" });
  expect([await buyer.ended, buyer.output()]).toEqual([0, expect.stringContaining("GOOD MORNING!\naccepted\n")]);
  expect(bidder.output()).toMatch("delivered “Shout this”");
  expect((await bo.get("/wallet")).body.availableCents).toBe(800);
  expect((await ada.get(`/tasks/${earlier.id}`)).body.task.status).toBe("open");
});

test("an agent that is refused waits for its owner, and goes on with the answer or the reason", async () => {
  const ada = await createPerson(service, { cents: 100_000 });
  const key = await ada.post("/keys", { label: "asks", scopes: ["task:write"], approval: { aboveCents: 1_000 } });
  const run = (order: string) =>
    start("asking", {
      REBID_URL: service.url,
      REBID_API_KEY: key.body.raw,
      ORDER: order,
      BUDGET_CENTS: order === "no" ? "3000" : "2000",
    });
  const idOf = async (output: () => string) => {
    await expect.poll(output, { timeout: 20_000 }).toMatch(/waiting: /);
    return /approvals\/([\w-]+)/.exec(output())?.[1];
  };
  const first = run("yes");
  const id = await idOf(first.output);
  const { version } = (await ada.get(`/approvals/${id}`)).body.approval;
  await ada.post(`/approvals/${id}/approve`, { seen: version });
  expect([await first.ended, first.output()]).toEqual([0, expect.stringMatching(/posted [\w-]+\n$/)]);
  expect((await ada.get("/me/tasks")).body.tasks).toHaveLength(1);
  const second = run("no");
  await ada.post(`/approvals/${await idOf(second.output)}/decline`, { reason: "At most $20." });
  expect([await second.ended, second.output()]).toEqual([1, expect.stringContaining("declined: At most $20.")]);
});

test("the verifier judges what waits and what comes, and reports programs that are wrong, endless or thieves", async () => {
  const [ada, bo] = await Promise.all([createPerson(service, { cents: 100_000 }), createPerson(service)]);
  const key = await reportingKey(service, ada);
  const deliver = async (content: string) => {
    const agreed = { checks: [externalCheck(key.id)], acceptOnChecks: { afterMinutes: 60 } };
    const { task, bid } = await awardedWithChecks(ada, bo, agreed);
    await deliverJudged(service.services, bo, bid.id, { content, judged: false });
    return task.id;
  };
  const verdictOf = async (id: string) => (await ada.get(`/tasks/${id}`)).body.deliveries[0].checks[0];
  const reads = `process.stdin.on("data", (text) => console.log(String(text).split(" ").map(Number).reduce((a, b) => a + b)));`;
  const waiting = await deliver(reads);
  const apiKey = key.credentials.authorization?.replace("Bearer ", "");
  const verifier = start("verifier", { REBID_URL: service.url, REBID_API_KEY: apiKey });
  await expect.poll(verifier.output, { timeout: 20_000 }).toMatch("passed: 3 of 3 tests pass.");
  expect(await verdictOf(waiting)).toMatchObject({ conclusion: "passed", summary: "3 of 3 tests pass." });
  expect((await ada.get(`/tasks/${waiting}`)).body.task.acceptsAt).not.toBeNull();
  const bad: [string, string][] = [
    [`console.log(5);`, "Test 2 of 3: the program printed “5” in place of “0”."],
    [`for (;;);`, "Test 1 of 3: the program took more than 5 seconds."],
    [
      `import { readFileSync } from "node:fs"; readFileSync("/etc/passwd");`,
      "Test 1 of 3: the program ended with an error.",
    ],
    [`console.log(process.env.REBID_API_KEY);`, "Test 1 of 3: the program printed “undefined” in place of “5”."],
  ];
  for (const [program, summary] of bad) {
    const id = await deliver(program);
    await expect.poll(() => verdictOf(id), { timeout: 30_000 }).toMatchObject({ conclusion: "failed", summary });
  }
});

test("the webhook receiver takes an event once, and refuses what is not signed", async () => {
  const receiver = start("webhookReceiver", { SIGNING_SECRET: "whsec_a", PORT: "0" });
  await expect.poll(receiver.output).toMatch(/receiving on port \d+/);
  const port = /port (\d+)/.exec(receiver.output())?.[1];
  const body = JSON.stringify(exampleEvent("bid.received"));
  const send = async (secret: string) => {
    const headers = { "X-Service-Signature": await webhooks.sign(body, secret) };
    return (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body, headers })).status;
  };
  expect([await send("whsec_b"), await send("whsec_a"), await send("whsec_a")]).toEqual([400, 204, 204]);
  await expect.poll(receiver.output).toMatch("bid.received:");
  expect(receiver.output().match(/bid\.received:/g)).toHaveLength(1);
});

test.skipIf(!hasBrowser)("the page shows open tasks, and a title is text", async () => {
  const ada = await createPerson(service, { cents: 100_000 });
  await postTask(ada, { title: "<img src=x onerror=alert(1)> a picture", maxBudgetCents: 1_250 });
  execFileSync("npm", ["run", "build", "--workspace", "client-sdk"], { stdio: "ignore" });
  const types: Record<string, string> = { html: "text/html", js: "text/javascript" };
  const files = createServer(async (request, response) => {
    const path = new URL(request.url ?? "", "http://localhost").pathname.replace(/\/$/, "/index.html");
    const content = await readFile(`client-sdk${path}`).catch(() => null);
    response.writeHead(content === null ? 404 : 200, {
      "content-type": types[path.split(".").at(-1) ?? ""] ?? "text/plain",
    });
    response.end(content);
  });
  await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
  const page = await (await sharedBrowser()).newPage();
  try {
    await page.goto(`http://localhost:${(files.address() as AddressInfo).port}/examples/page/?service=${service.url}`);
    await page.getByText("<img src=x onerror=alert(1)> a picture").waitFor();
    expect(await page.getByRole("listitem").first().innerText()).toMatch("$12.50");
    await page.getByRole("searchbox").fill("nothing like this");
    await page.getByRole("button").click();
    await page.getByText("Nothing is open.").waitFor();
  } finally {
    await page.close();
    files.closeAllConnections();
    files.close();
  }
});
