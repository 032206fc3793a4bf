import type { Finding } from "../audit/reconcile/bookkeeping.ts";
import { compareFiles } from "../audit/reconcile/files.ts";
import { reconcile, reconcileAndResume } from "../audit/reconcile/reconcile.ts";
import type { Services } from "../services.ts";
import { demandReconciliation, endReconciliation, isUnreconciled, readOrigin } from "../store/reconciliation.ts";
import { withServices } from "./openServices.ts";
import { type Command, runCommand, UsageError, withArguments } from "./runCommand.ts";

const usage = `Books what the payment processor knows and the books do not, as after a restore of the database to an earlier time:
top-ups that were paid, their refunds and disputes, and payouts that were sent. It also lists samples and deliveries whose
file the bucket lacks, and files that the books do not know.

Usage:
  npm run reconcile
      Shows what is missing, and changes nothing.
  npm run reconcile -- --apply
      Books it, each once, and lets payouts be sent again. It can be repeated.
  npm run reconcile -- --pause
      Pauses payouts until the books have been compared. A restore pauses them by itself, unless it is one of a copy of the
      disk, or of a copy of the database in the same cluster.
  npm run reconcile -- --resume
      Lets payouts be sent again although something contradicts the books. Look at it first.

  --since TIME   compare only what the processor has done since then, such as 2026-11-20T00:00:00Z; everything by default

Exit codes:
  0  nothing is missing, or all of it was booked
  1  something is missing, cannot be booked, or contradicts the books; each is listed
  2  the comparison could not be made`;

const headings: Record<Finding["kind"], string> = {
  missing: "Missing in the books",
  unknownUser: "Not booked, because the books do not know the user",
  contradiction: "Not booked, because it contradicts the books",
  missingFile: "Missing in the bucket: restore these files from its backup",
  unknownFile: "In the bucket, and not in the books: deliveries and samples that have to be made again",
};

function print(findings: readonly Finding[], changed: Partial<typeof headings> = {}): void {
  for (const [kind, heading] of Object.entries({ ...headings, ...changed })) {
    const found = findings.filter((finding) => finding.kind === kind);
    if (found.length > 0) console.log(`${heading}:`);
    for (const { subject, detail } of found) console.log(`    ${subject}: ${detail}`);
  }
  const isComplete = findings.every(({ kind }) => kind === "missingFile" || kind === "unknownFile");
  if (isComplete) console.log("The books lack nothing that the payment processor knows.");
}

async function printState({ database }: Services): Promise<void> {
  console.log((await isUnreconciled(database)) ? "Payouts are paused." : "Payouts are sent.");
}

const show = (since: Date | null) => async (services: Services) => {
  const findings = [...(await reconcile(services, { since, extent: "nothing" })), ...(await compareFiles(services))];
  print(findings);
  if (findings.some(({ kind }) => kind === "missing"))
    console.log("Nothing was changed. `npm run reconcile -- --apply` books what is missing.");
  await printState(services);
  return findings.length === 0 ? 0 : 1;
};

const apply = (since: Date | null) => async (services: Services) => {
  const findings = [...(await reconcileAndResume(services, since)), ...(await compareFiles(services))];
  print(findings, { missing: "Booked" });
  await printState(services);
  return findings.every(({ kind }) => kind === "missing") ? 0 : 1;
};

const pause = async (services: Services) => {
  await demandReconciliation(services.database);
  await printState(services);
};

const resume = async (services: Services) => {
  await endReconciliation(services.database, await readOrigin(services.database));
  await printState(services);
};

const options = {
  apply: { type: "boolean" },
  pause: { type: "boolean" },
  resume: { type: "boolean" },
  since: { type: "string" },
} as const;

export const command: Command = {
  usage,
  failureCode: 2,
  parse: withArguments({ options, maxPositionals: 0 }, ({ values }) => {
    const { since: from, ...chosen } = values;
    const since = from === undefined ? null : new Date(from);
    if (since !== null && Number.isNaN(since.getTime())) {
      throw new UsageError(`--since must be a time such as 2026-11-20T00:00:00Z, not "${from}".`);
    }
    if (Object.keys(chosen).length > 1) throw new UsageError("Choose one of --apply, --pause and --resume.");
    if (chosen.pause) return withServices(pause);
    if (chosen.resume) return withServices(resume);
    return withServices(chosen.apply ? apply(since) : show(since));
  }),
};

if (import.meta.main) await runCommand(command);
