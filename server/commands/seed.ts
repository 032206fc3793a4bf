import { hashPassword } from "../auth/passwords.ts";
import { readConfig } from "../config.ts";
import { expireTask } from "../market/tasks/expireTask.ts";
import { appRouter } from "../procedures/router.ts";
import type { Task } from "../schemas/task.ts";
import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";
import { buildContext } from "../trpc.ts";
import { withServices } from "./openServices.ts";
import { CommandFailure, runCommand, withArguments } from "./runCommand.ts";

const usage = `Fills the marketplace of a running service with a few people, some money, and tasks in every state, and prints
where to look at them. Running it again changes nothing.

Usage, while Rebid runs:
  npm run seed`;

const PASSWORD = "a seed password";
const emailOf = (name: string) => `${name.toLowerCase()}@example.com`;

/** How far a task goes: every status, and one that is also rated. */
type Stage = Task["status"] | "rated";

interface Story {
  title: string;
  tags: string[];
  maxBudgetCents: number;
  stage: Stage;
  /** How often the buyer may ask for changes; once, they do. */
  revisions?: number;
}

/** Posted by Ada and Dev in turns. Bo wins whatever is awarded. */
const stories: readonly Story[] = [
  {
    title: "Translate a lunch menu into Finnish",
    tags: ["translation", "finnish"],
    maxBudgetCents: 12_000,
    stage: "open",
  },
  { title: "Label 500 photographs of birds", tags: ["images", "labelling"], maxBudgetCents: 25_000, stage: "open" },
  { title: "Write unit tests for a date parser", tags: ["typescript"], maxBudgetCents: 40_000, stage: "open" },
  {
    title: "Transcribe a 20 minute interview",
    tags: ["audio", "transcription"],
    maxBudgetCents: 9_000,
    stage: "awarded",
  },
  { title: "Summarise ten papers on tidal power", tags: ["research"], maxBudgetCents: 60_000, stage: "delivered" },
  { title: "Draw an icon set of twelve", tags: ["design", "images"], maxBudgetCents: 30_000, stage: "accepted" },
  { title: "Proofread a grant application", tags: ["writing"], maxBudgetCents: 8_000, stage: "rated" },
  { title: "Record a jingle of ten seconds", tags: ["audio"], maxBudgetCents: 15_000, stage: "resolved" },
  { title: "Clean a list of 2,000 addresses", tags: ["data"], maxBudgetCents: 11_000, stage: "disputed" },
  { title: "Find a name for a sailing boat", tags: ["writing"], maxBudgetCents: 5_000, stage: "cancelled" },
  { title: "Photograph the harbour at dawn", tags: ["images"], maxBudgetCents: 7_000, stage: "expired" },
  {
    title: "Lay out a programme of four pages",
    tags: ["design"],
    maxBudgetCents: 16_000,
    stage: "delivered",
    revisions: 2,
  },
];

const descriptionOf = (title: string) => `${title}, as described in [the brief](https://example.com/brief).

- **What you get**: everything that is needed to begin at once.
- **What I expect**: one file, and a line about how it was made.

Ask before you bid if anything is unclear.`;

function callerFor(services: Services, userId: string, moderator = false) {
  const principal = { kind: "session" as const, userId, sessionId: "", moderator, secondFactor: true };
  return appRouter.createCaller(buildContext(services, principal));
}
type Caller = ReturnType<typeof callerFor>;

async function createPerson(services: Services, displayName: string, role = "member"): Promise<Caller> {
  const user = await services.database.prisma.user.create({
    data: { email: emailOf(displayName), displayName, role, passwordHash: await hashPassword(PASSWORD) },
  });
  if (role === "member") {
    await services.database.transaction((tx) => tx.ledger.deposit(user.id, "adjustment", 200_000, `seed ${user.id}`));
  }
  return callerFor(services, user.id, role === "moderator");
}

async function createPeople(services: Services) {
  const [ada, bo, cleo, dev, mo] = await Promise.all([
    ...["Ada", "Bo", "Cleo", "Dev"].map((name) => createPerson(services, name)),
    createPerson(services, "Mo", "moderator"),
  ]);
  if (!ada || !bo || !cleo || !dev || !mo) throw new Error("five people are needed");
  return { ada, bo, cleo, dev, mo };
}
type People = Awaited<ReturnType<typeof createPeople>>;

async function deliver(bidder: Caller, bidId: string): Promise<void> {
  const content = Buffer.from("# The work\n\nAll of it, as agreed.\n");
  const { uploadUrl, storageKey } = await bidder.bids.deliveryInit({
    ...{ id: bidId, mimeType: "text/markdown", bytes: content.length, fileName: "work.md" },
  });
  const put = await fetch(uploadUrl, { method: "PUT", headers: { "content-type": "text/markdown" }, body: content });
  if (!put.ok) throw new CommandFailure(`The object store refused an upload with status ${put.status}.`);
  await bidder.bids.deliveryFinalize({ id: bidId, storageKey });
}

/** Moves the time of a delivery so that the task expires now, and does what the background would do. */
async function expire(services: Services, taskId: string): Promise<void> {
  const { database, clock, settings } = services;
  const dueAt = new Date(clock.now().getTime() - settings.deliveryGraceSeconds * 1000);
  await database.query(sql`
    UPDATE tasks SET delivery_due_at = ${dueAt.toISOString()}::timestamptz WHERE id = ${taskId}::uuid`);
  await expireTask(services, { taskId });
}

/** Two bidders ask about a task, and its buyer has answered one of them. */
async function ask(taskId: string, buyer: Caller, { bo, cleo }: People): Promise<void> {
  const { question } = await cleo.tasks.ask({
    ...{ id: taskId, text: "Who will use the result: people who know the subject, or everybody?" },
  });
  await buyer.questions.answer({ id: question.id, text: "Everybody. Please explain what a beginner would not know." });
  await bo.tasks.ask({
    id: taskId,
    text: "Is there an example of how it should look?\nSomething like https://example.com/sample would do.",
  });
}

/** The buyer and the bidder agree on details; the bidder has not read the last message. */
async function talk(bidId: string, buyer: Caller, bidder: Caller): Promise<void> {
  await bidder.messages.send({
    id: bidId,
    text: "Hello! I begin tomorrow at nine. Is there anything I should see first?",
  });
  const { messages } = await bidder.messages.list({ id: bidId });
  await buyer.messages.read({ id: bidId, upTo: messages[0]?.id ?? "" });
  await buyer.messages.send({ id: bidId, text: "Yes: https://example.com/style says how names are written." });
}

/** Posts a task and takes it to its stage, and returns its id. */
async function tell(services: Services, story: Story, buyer: Caller, people: People): Promise<string> {
  const { bo, cleo, mo } = people;
  const { stage, ...input } = story;
  const { task } = await buyer.tasks.create({ ...input, description: descriptionOf(input.title) });
  const { id } = task;
  const priceCents = Math.round(input.maxBudgetCents * 0.8);
  const { bid } = await bo.bids.place({ id, priceCents, etaHours: 24, notes: "I can start **today**." });
  await cleo.bids.place({ id, priceCents: input.maxBudgetCents, etaHours: 8 });
  if (stage === "open") await ask(id, buyer, people);
  if (stage === "cancelled") await buyer.tasks.cancel({ id });
  if (stage === "cancelled" || stage === "open") return id;
  await buyer.tasks.award({ id, bidId: bid.id });
  if (stage === "awarded") await talk(bid.id, buyer, bo);
  if (stage === "expired") await expire(services, id);
  if (stage === "awarded" || stage === "expired") return id;
  await deliver(bo, bid.id);
  if (input.revisions) {
    await buyer.tasks.requestChanges({ id, reason: "The names on the last page are cut off at the margin." });
    await deliver(bo, bid.id);
  }
  if (stage === "accepted" || stage === "rated") await buyer.tasks.accept({ id });
  if (stage === "rated") {
    await buyer.tasks.rate({ id, stars: 5, comment: "Fast, and better than I had hoped." });
    await bo.tasks.rate({ id, stars: 4 });
  }
  if (stage === "disputed" || stage === "resolved") {
    const { dispute } = await buyer.tasks.dispute({ id, reason: "Half of what was agreed on is missing." });
    const note = "What is there is good, and a third is missing.";
    const bidderCents = Math.round(priceCents * 0.6);
    if (stage === "resolved") await mo.disputes.resolve({ id: dispute.id, resolution: "split", bidderCents, note });
  }
  return id;
}

/** Creates accounts and money directly, and everything else through the procedures, like a client's requests. */
async function seed(services: Services): Promise<void> {
  const { database, settings } = services;
  const [ada] = await database.query(sql`SELECT FROM users WHERE email = ${emailOf("Ada")}`);
  if (ada) return console.log("The marketplace has been seeded before; nothing was changed.");
  // The spam guard would refuse this many tasks at once.
  const unguarded = { ...services, settings: { ...settings, spamGuard: false } };
  const people = await createPeople(unguarded);
  const lines: string[] = [];
  for (const [index, story] of stories.entries()) {
    const [name, buyer] = index % 2 === 0 ? (["Ada", people.ada] as const) : (["Dev", people.dev] as const);
    const id = await tell(unguarded, story, buyer, people);
    lines.push(`  ${story.stage.padEnd(9)}  ${name}  ${settings.publicUrl}/app/tasks/${id}  ${story.title}`);
  }
  console.log(`Created 5 people and ${stories.length} tasks:
${lines.join("\n")}

Sign in at ${settings.publicUrl}/app/sign-in with the password "${PASSWORD}":
  ${emailOf("Ada")} and ${emailOf("Dev")} post tasks, ${emailOf("Bo")} and ${emailOf("Cleo")} bid,
  ${emailOf("Mo")} is a moderator, who decides at ${settings.publicUrl}/app/moderation/disputes`);
}

await runCommand({
  usage,
  parse: withArguments({ options: {}, maxPositionals: 0 }, () => () => {
    if (readConfig(process.env).production) {
      throw new CommandFailure(
        "Refused with NODE_ENV=production: the seed creates accounts with money and a well-known password.",
      );
    }
    return withServices(seed)();
  }),
});
