import type { BackingServiceSettings } from "../../backingServices.ts";
import type { Config } from "../../config.ts";
import { openMail } from "../../gateways/mail.ts";
import { s3Storage } from "../../gateways/s3Storage.ts";
import { stripeProcessor } from "../../gateways/stripeProcessor.ts";
import { examineBackup } from "./backup.ts";
import { examineDatabase } from "./database.ts";
import { type Finding, type Found, messageOf, ok, problem, warning } from "./finding.ts";
import { examineProcessor } from "./processor.ts";
import { examineAddress } from "./publicAddress.ts";
import { examineStorage } from "./storage.ts";

/** How long one subject may take: an answer after that is as good as none. */
const SUBJECT_TIMEOUT_MS = 30_000;

export interface Installation {
  config: Config;
  backing: BackingServiceSettings;
  /** The address of the service, without a trailing slash. */
  publicUrl: string;
  /** Where backups are kept, and how old the newest may be; null if nobody said so. */
  backup: { path: string; maxHours: number } | null;
}

/** Looks at everything that the service needs, by using it. It changes nothing but a small file, which it deletes. */
export async function examine(installation: Installation): Promise<Finding[]> {
  const { config, backing, publicUrl, backup } = installation;
  const origins = [new URL(publicUrl).origin, ...config.appOrigins];
  const pollSeconds = config.processorPollSeconds;
  const processor = stripeProcessor(backing.processor);
  const found = await Promise.all([
    lookAt("database", () => examineDatabase(databaseUrlsOf(installation), config)),
    lookAt("files", () => withStorage(backing, origins)),
    lookAt("payments", () => examineProcessor(processor, backing.processor, { publicUrl, pollSeconds })),
    lookAt("mail", () => examineMail(backing)),
    lookAt("address", () => examineAddress(publicUrl, config)),
    ...(backup === null ? [] : [lookAt("backup", () => examineBackup(backup.path, backup.maxHours))]),
  ]);
  return found.flat();
}

/** What a look throws is a finding too: the others go on. */
async function lookAt(subject: string, look: () => Promise<Found[]>): Promise<Finding[]> {
  const late = AbortSignal.timeout(SUBJECT_TIMEOUT_MS);
  const timedOut = new Promise<never>((_, reject) => {
    late.addEventListener("abort", () => reject(new Error(`no answer within ${SUBJECT_TIMEOUT_MS / 1_000} s`)));
  });
  const found = await Promise.race([look(), timedOut]).catch((error: unknown) => [
    problem(`it cannot be used: ${messageOf(error)}`, "Check its address, its credentials and the network."),
  ]);
  return found.map((one) => ({ subject, ...one }));
}

const databaseUrlsOf = ({ config, backing }: Installation) => ({
  databaseUrl: backing.databaseUrl,
  ownerUrl: config.databaseOwnerUrl,
  pooledUrl: config.pooledUrl,
  replicaUrls: config.replicaUrls,
});

async function withStorage({ storage: settings }: BackingServiceSettings, origins: string[]): Promise<Found[]> {
  const storage = s3Storage(settings);
  try {
    return await examineStorage(storage, origins);
  } finally {
    await storage.close();
  }
}

async function examineMail({ mail: settings }: BackingServiceSettings): Promise<Found[]> {
  if (settings === null) {
    return [warning("no mails are sent: who forgets a password needs an operator", "Set SMTP_URL and MAIL_FROM.")];
  }
  const mail = openMail(settings);
  try {
    await mail.verify();
    return [ok("the mail server takes our sign-in")];
  } catch (error) {
    return [problem(`the mail server cannot be used: ${messageOf(error)}`, "Check SMTP_URL.")];
  } finally {
    await mail.close();
  }
}
