import type { Finding } from "./doctor/finding.ts";
import { examineSettings } from "./doctor/settings.ts";
import { findBackingServices } from "./openServices.ts";
import { type Command, runCommand, UsageError, withArguments } from "./runCommand.ts";

const usage = `Looks at everything that the service needs, by using it, and says what to do about what it finds.

Usage:
  npm run doctor
  npm run doctor -- --backup PATH            # also: is there a recent backup at this file, or in this folder
  npm run doctor -- --backup PATH --hours 26 # how old the newest one may be

It uses the settings of the service, and DATABASE_OWNER_URL if that is set. It changes nothing: a small file
in the bucket is deleted again, and no mail is sent.

Exit codes:
  0  the service can run; warnings may have been printed
  1  there is a problem: the service, or a part that people need, does not work`;

const MAX_HOURS_DEFAULT = 26;

function print({ kind, subject, text, advice }: Finding): void {
  console.log(`${kind.padEnd(8)} ${subject.padEnd(9)} ${text}`);
  for (const line of advice?.split("\n") ?? []) console.log(`${" ".repeat(19)}→ ${line}`);
}

async function diagnose(backup: { path: string; maxHours: number } | null): Promise<number> {
  const { found, config } = examineSettings(process.env);
  const findings: Finding[] = found.map((one) => ({ subject: "settings", ...one }));
  if (config !== null) {
    // Loaded only now, because it takes longer than finding a mistake in the settings.
    const { examine } = await import("./doctor/examine.ts");
    const { settings: backing, publicUrl } = await findBackingServices(config);
    findings.push(...(await examine({ config, backing, publicUrl, backup })));
  }
  for (const finding of findings) print(finding);
  const count = (kind: Finding["kind"]) => findings.filter((finding) => finding.kind === kind).length;
  console.log(`\n${count("problem")} problems, ${count("warning")} warnings, ${count("ok")} in order.`);
  return count("problem") === 0 ? 0 : 1;
}

function hoursOf(text: string | undefined): number {
  const hours = Number(text ?? MAX_HOURS_DEFAULT);
  if (hours > 0) return hours;
  throw new UsageError(`--hours must be a number above 0, not "${text}".`);
}

export const command: Command = {
  usage,
  parse: withArguments(
    { options: { backup: { type: "string" }, hours: { type: "string" } }, maxPositionals: 0 },
    ({ values }) => {
      const maxHours = hoursOf(values.hours);
      if (values.backup === undefined && values.hours !== undefined) throw new UsageError("--hours needs --backup.");
      return () => diagnose(values.backup === undefined ? null : { path: values.backup, maxHours });
    },
  ),
};

if (import.meta.main) await runCommand(command);
