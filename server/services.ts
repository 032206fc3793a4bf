import type { Logger } from "pino";
import { CallerWatch } from "./auth/callerWatch.ts";
import { type IsCommonPassword, loadCommonPasswords } from "./auth/commonPasswords.ts";
import type { ClientMetadata } from "./auth/oauth/clients.ts";
import { loadClients } from "./auth/oauth/clientsFile.ts";
import { openSecurityLog, type SecurityLog } from "./auth/securityLog.ts";
import type { BackingServiceSettings } from "./backingServices.ts";
import type { Config } from "./config.ts";
import { type Cursors, openCursors } from "./events/cursor.ts";
import { EventFollower } from "./events/follower.ts";
import { type Clock, systemClock } from "./gateways/clock.ts";
import { type Egress, guardedEgress } from "./gateways/egress.ts";
import { type Inspector, openInspector } from "./gateways/inspection/inspector.ts";
import { type Judge, openJudge } from "./gateways/judging/judge.ts";
import { type Mail, openMail } from "./gateways/mail.ts";
import type { Processor } from "./gateways/processor.ts";
import type { ResolveName } from "./gateways/resolveName.ts";
import { s3Storage } from "./gateways/s3Storage.ts";
import type { Storage } from "./gateways/storage.ts";
import { stripeProcessor } from "./gateways/stripeProcessor.ts";
import { type LimiterOptions, openLimiter, type RateLimiter } from "./limits/limiter.ts";
import { outsideCalls } from "./outsideCalls.ts";
import { type Database, openDatabase } from "./store/database.ts";
import type { PoolSettings } from "./store/poolSettings.ts";
import { type PublicReads, primaryReads, StandbyReads } from "./store/publicReads.ts";

/** The settings that procedures and jobs use. */
export type Settings = Pick<
  Config,
  | "acceptanceWindowSeconds"
  | "agreementSeconds"
  | "appOrigins"
  | "corsOrigins"
  | "deliveryGraceSeconds"
  | "mailEventsSecret"
  | "moderatorTotp"
  | "passwordBlocklist"
  | "oauthClientsFile"
  | "oauthDynamicClients"
  | "operator"
  | "operatorPaper"
  | "operatorTimeZone"
  | "processorPollSeconds"
  | "spamGuard"
  | "trustLocalhost"
  | "webhookAllowInsecure"
  | "webhookRetrySeconds"
  | "webhookTimeoutSeconds"
> & {
  readonly publicUrl: string;
  readonly sessionSecrets: readonly string[];
};

/** The services that procedures and jobs use. Created once, at startup. */
export interface Services {
  readonly settings: Settings;
  readonly database: Database;
  /** Where anonymous searches and reputations are read. */
  readonly publicReads: PublicReads;
  readonly clock: Clock;
  /** How the clock can be moved forward; null where it cannot. */
  readonly testClock: TestClockAccess | null;
  readonly processor: Processor;
  readonly storage: Storage;
  /** Says what uploaded files are. */
  readonly inspector: Inspector;
  /** Says whether the content of files is as agreed. */
  readonly judge: Judge;
  /** Sends requests to addresses that users chose. */
  readonly egress: Egress;
  /** The apps that the operator has set. */
  readonly oauthClients: readonly ClientMetadata[];
  /** Tells waiting requests when their caller's session or key has ended. */
  readonly callerWatch: CallerWatch;
  /** Tells waiting requests what is new in the event log. */
  readonly eventFollower: EventFollower;
  /** Makes and reads the event log's cursors. */
  readonly eventCursors: Cursors;
  /** Whether a password is one of those that nobody may choose. */
  readonly isCommonPassword: IsCommonPassword;
  /** Sends mails; null when no mail server is configured. */
  readonly mail: Mail | null;
  /** Counts requests; null when nothing is limited. */
  readonly limiter: RateLimiter | null;
  readonly log: Logger;
  readonly securityLog: SecurityLog;
}

/** What moving the clock needs: the database's clock, and the embedded processor, which goes by it. */
export interface TestClockAccess {
  readonly databaseUrl: string;
  readonly processorUrl: string;
  /** Ends a move that is under way, because the process stops. */
  readonly stopping: AbortSignal;
}

interface CreateServicesOptions {
  settings: Omit<Settings, "sessionSecrets">;
  pool: PoolSettings;
  /** Standbys for reads that anybody may make. */
  replicaUrls?: readonly string[];
  log: Logger;
  /** What the security log is written to; `log` by default. */
  securityLogger?: Logger;
  clock?: Clock;
  testClock?: TestClockAccess | null;
  /** Says what uploaded files are, and is closed with the others; by default one of their own. */
  inspector?: Inspector;
  /** Judges the content of files, and is closed with the others; by default one of their own. */
  judge?: Judge;
  /** Resolves the host names of webhooks; DNS by default. */
  resolve?: ResolveName;
  /** The rate limits: `{}` for those of the contract, null for none. */
  limiter: LimiterOptions | null;
}

/** Connects to the backing services. `close` closes the connections, the database's last. */
export function createServices(
  { databaseUrl, sessionSecrets, processor, storage, mail }: BackingServiceSettings,
  {
    settings,
    pool,
    replicaUrls = [],
    log,
    securityLogger = log,
    clock = systemClock,
    testClock = null,
    inspector = openInspector({ log }),
    judge = openJudge({ log }),
    resolve,
    limiter,
  }: CreateServicesOptions,
): { services: Services; close(): Promise<void> } {
  const isCommonPassword = loadCommonPasswords(settings.passwordBlocklist);
  const database = openDatabase(databaseUrl, pool);
  const standbys = replicaUrls.map((url) => openDatabase(url, { ...pool, pooler: undefined }));
  const publicReads =
    standbys.length === 0 ? primaryReads(database) : new StandbyReads(database, standbys, log).start();
  const services: Services = {
    settings: { ...settings, sessionSecrets },
    database,
    publicReads,
    clock,
    testClock,
    processor: outsideCalls("processor", stripeProcessor(processor)),
    storage: outsideCalls("storage", s3Storage(storage)),
    inspector,
    judge,
    egress: guardedEgress({ allowInsecure: settings.webhookAllowInsecure, ...(resolve && { resolve }) }),
    oauthClients: loadClients(settings.oauthClientsFile),
    callerWatch: new CallerWatch({ database, clock, log }),
    eventFollower: new EventFollower({ database, log }),
    eventCursors: openCursors(sessionSecrets),
    isCommonPassword,
    mail: mail && outsideCalls("mail", openMail(mail)),
    limiter: limiter && openLimiter(database, log, limiter),
    log,
    securityLog: openSecurityLog(securityLogger),
  };
  return {
    services,
    async close() {
      services.eventFollower.stop();
      services.securityLog.flush();
      services.callerWatch.stop();
      await services.egress.close();
      await services.storage.close();
      await services.mail?.close();
      await services.inspector.close();
      await services.judge.close();
      await publicReads.stop();
      await Promise.all(standbys.map((standby) => standby.close()));
      await services.database.close();
    },
  };
}
