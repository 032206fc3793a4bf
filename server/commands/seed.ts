import { hashPassword } from "../auth/passwords.ts";
import { readConfig } from "../config.ts";
import { appRouter } from "../procedures/router.ts";
import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";
import { buildContext } from "../trpc.ts";
import { withServices } from "./openServices.ts";
import { CommandFailure, runCommand, withArguments } from "./runCommand.ts";

const usage = `Fills the marketplace of a running service with a few people, some money, and tasks in several states. Running it
again changes nothing.

Usage, while Rebid runs:
  npm run seed`;

const PASSWORD = "a seed password";
const people = ["Ada", "Bo", "Cleo", "Dev"];
const emailOf = (name: string) => `${name.toLowerCase()}@example.com`;

const tasks = [
  { title: "Translate a lunch menu into Finnish", tags: ["translation", "finnish"], maxBudgetCents: 12_000 },
  { title: "Label 500 photographs of birds", tags: ["images", "labelling"], maxBudgetCents: 25_000 },
  { title: "Write unit tests for a date parser", tags: ["typescript", "testing"], maxBudgetCents: 40_000 },
  { title: "Transcribe a 20 minute interview", tags: ["audio", "transcription"], maxBudgetCents: 9_000 },
  { title: "Summarise ten papers on tidal power", tags: ["research", "writing"], maxBudgetCents: 60_000 },
  { title: "Draw an icon set of twelve", tags: ["design", "images"], maxBudgetCents: 30_000 },
];

function callerFor(services: Services, userId: string) {
  const principal = { kind: "session" as const, userId, sessionId: "", moderator: false, secondFactor: false };
  return appRouter.createCaller(buildContext(services, principal));
}
type Caller = ReturnType<typeof callerFor>;

async function createPerson(services: Services, displayName: string): Promise<Caller> {
  const user = await services.database.prisma.user.create({
    data: { email: emailOf(displayName), displayName, passwordHash: await hashPassword(PASSWORD) },
  });
  await services.database.transaction((tx) => tx.ledger.deposit(user.id, "adjustment", 200_000, `seed ${user.id}`));
  return callerFor(services, user.id);
}

async function deliver(bidder: Caller, bidId: string): Promise<void> {
  const content = Buffer.from("# The work\n\nAll of it, as agreed.\n");
  const { uploadUrl, storageKey } = await bidder.bids.deliveryInit({
    id: bidId,
    mimeType: "text/markdown",
    bytes: content.length,
  });
  const put = await fetch(uploadUrl, { method: "PUT", headers: { "content-type": "text/markdown" }, body: content });
  if (!put.ok) throw new CommandFailure(`The object store refused an upload with status ${put.status}.`);
  await bidder.bids.deliveryFinalize({ id: bidId, storageKey });
}

/** Creates accounts and money directly, and everything else through the procedures, like a client's requests. */
async function seed(services: Services): Promise<void> {
  const { database, settings } = services;
  const [ada] = await database.query(sql`SELECT FROM users WHERE email = ${emailOf("Ada")}`);
  if (ada) return console.log("The marketplace has been seeded before; nothing was changed.");
  // The spam guard would refuse this many tasks at once.
  await createTasks({ ...services, settings: { ...settings, spamGuard: false } });
  const emails = people.map(emailOf).join(", ");
  console.log(`Created ${people.length} people and ${tasks.length} tasks. Sign in with the password "${PASSWORD}" as:
  ${emails}`);
}

async function createTasks(services: Services): Promise<void> {
  const [ada, bo, cleo, dev] = await Promise.all(people.map((name) => createPerson(services, name)));
  if (!ada || !bo || !cleo || !dev) throw new Error("four people are needed");
  for (const [index, input] of tasks.entries()) {
    const buyer = index % 2 === 0 ? ada : dev;
    const { task } = await buyer.tasks.create({ ...input, description: `${input.title}. Details on request.` });
    const price = Math.round(input.maxBudgetCents * 0.8);
    const { bid } = await bo.bids.place({ id: task.id, priceCents: price, etaHours: 24, notes: "I can start today." });
    await cleo.bids.place({ id: task.id, priceCents: input.maxBudgetCents, etaHours: 8 });
    // The first three stay open; each of the others goes one step further.
    if (index >= 3) await buyer.tasks.award({ id: task.id, bidId: bid.id });
    if (index >= 4) await deliver(bo, bid.id);
    if (index >= 5) await buyer.tasks.accept({ id: task.id });
  }
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
