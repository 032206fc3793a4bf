/**
 * `npm run seed`: fills the marketplace of a running service with a few people, tasks in every state of the main job
 * and their money, through the procedures themselves. A second run changes nothing.
 */
import { hashPassword } from "../auth/passwords.ts";
import { readConfig } from "../config.ts";
import { appRouter } from "../procedures/router.ts";
import type { Services } from "../services.ts";
import { buildContext } from "../trpc.ts";
import { expectNoArguments } from "./noArguments.ts";
import { openServices } from "./openServices.ts";

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
  const principal = { kind: "session" as const, userId, sessionId: "", moderator: false };
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
  if (!put.ok) throw new Error(`the object store refused the upload: ${put.status}`);
  await bidder.bids.deliveryFinalize({ id: bidId, storageKey });
}

async function seed(services: Services): Promise<string> {
  const existing = await services.database.prisma.user.count({ where: { email: emailOf("Ada") } });
  if (existing > 0) return "The marketplace was seeded before; nothing was changed.";
  // The guard against spam would take this for some.
  const quiet = { ...services, settings: { ...services.settings, spamGuard: false } };
  const [ada, bo, cleo, dev] = await Promise.all(people.map((name) => createPerson(quiet, name)));
  if (!ada || !bo || !cleo || !dev) throw new Error("four people are needed");

  for (const [index, input] of tasks.entries()) {
    const buyer = index % 2 === 0 ? ada : dev;
    const { task } = await buyer.tasks.create({ ...input, description: `${input.title}. Details on request.` });
    const price = Math.round(input.maxBudgetCents * 0.8);
    const { bid } = await bo.bids.place({ id: task.id, priceCents: price, etaHours: 24, notes: "I can start today." });
    await cleo.bids.place({ id: task.id, priceCents: input.maxBudgetCents, etaHours: 8 });
    // The first stay open; each of the others goes one step further.
    if (index >= 3) await buyer.tasks.award({ id: task.id, bidId: bid.id });
    if (index >= 4) await deliver(bo, bid.id);
    if (index >= 5) await buyer.tasks.accept({ id: task.id });
  }
  const who = people.map(emailOf).join(", ");
  return `Seeded ${people.length} people and ${tasks.length} tasks. Sign in as ${who} with the password "${PASSWORD}".`;
}

expectNoArguments("seed");
if (readConfig(process.env).production) {
  console.error("The seed makes accounts with money and a password that everyone knows: not with NODE_ENV=production.");
  process.exit(1);
}
const { services, close } = await openServices();
try {
  console.log(await seed(services));
} finally {
  await close();
}
