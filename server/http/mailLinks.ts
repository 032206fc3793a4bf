import { type Request, type RequestHandler, Router } from "express";
import { z } from "zod";
import { ApiError } from "../errors.ts";
import { readUnsubscribeToken, stopMails } from "../notifications/unsubscribe.ts";
import { canonicalEmail } from "../schemas/user.ts";
import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";
import { isSignedBy, SIGNATURE_HEADER } from "../webhooks/sign.ts";
import { bodyReader } from "./body.ts";
import { type HtmlPage, pageSender } from "./page.ts";
import { allowOnly } from "./sendError.ts";

const UNSUBSCRIBE = "/notifications/unsubscribe";
const EVENTS = "/mail/events";

/** What the links and the server of mails ask: both speak forms and signatures, and neither has a session. */
export function mailLinks(services: Services): Router {
  return Router()
    .get(UNSUBSCRIBE, showUnsubscribe(services))
    .post(UNSUBSCRIBE, unsubscribe(services))
    .all(UNSUBSCRIBE, allowOnly("GET", "POST"))
    .post(EVENTS, takeMailEvents(services))
    .all(EVENTS, allowOnly("POST"));
}

const readForm = bodyReader(10 * 1024);
const readEvents = bodyReader(1024 * 1024);

function tokenOf({ settings, clock }: Services, { query }: Request) {
  const token = typeof query.token === "string" ? query.token : "";
  return { token, ...readUnsubscribeToken(settings.sessionSecrets, token, clock.now()) };
}

/** What our own page sends, which wants a page in return. */
const BY_HAND = "by-hand";

/** A page with a button: opening a link changes nothing, because mail programs open links too. */
function showUnsubscribe(services: Services): RequestHandler {
  return (request, response) => {
    const { token, what } = tokenOf(services, request);
    const page: HtmlPage = {
      title: "Fewer mails",
      hasForm: true,
      body: `<h1>Fewer mails</h1>
<p>Stop ${what === "daily" ? "the daily mails" : `mails about ${what}`} from Rebid?</p>
<form method="post" action="${UNSUBSCRIBE}?token=${token}"><input type="hidden" name="List-Unsubscribe" value="${BY_HAND}">
<button>Stop them</button></form>
<p class="quiet">What they tell is still in your inbox on Rebid.</p>`,
    };
    pageSender(page)(response);
  };
}

const sendDone = pageSender({
  title: "Done",
  body: `<h1>Done</h1>
<p>These mails have stopped. You can turn them on again in your account on Rebid.</p>`,
});

/** RFC 8058: one click in a mail program, without a session, and as often as one likes. */
function unsubscribe(services: Services): RequestHandler {
  return async (request, response) => {
    const { userId, what } = tokenOf(services, request);
    const form = (await readForm(request, response)).toString();
    const isByHand = form.includes(`List-Unsubscribe=${BY_HAND}`);
    // A mail program sends it as either kind of form.
    if (!isByHand && !/List-Unsubscribe(=|"\r\n\r\n)One-Click/.test(form)) {
      throw new ApiError("invalid_input", { issues: [{ path: "List-Unsubscribe", message: "Must be One-Click." }] });
    }
    await stopMails(services.database, userId, what);
    if (isByHand) sendDone(response);
    else response.status(204).end();
  };
}

const MailEvents = z.strictObject({
  events: z.array(z.strictObject({ type: z.enum(["bounce", "complaint"]), email: z.string().max(320) })).max(1_000),
});

/** Takes what the mail server says of addresses: nothing more is sent there until they are verified again. */
function takeMailEvents({ database, settings, clock }: Services): RequestHandler {
  return async (request, response) => {
    const body = await readEvents(request, response);
    const secret = settings.mailEventsSecret;
    if (secret === null || !isSignedBy(body, request.get(SIGNATURE_HEADER), secret, clock.real())) {
      throw new ApiError("unauthenticated", {
        message: `The \`${SIGNATURE_HEADER}\` header is missing, wrong or too old.`,
      });
    }
    const emails = parseEvents(body).map(({ email }) => canonicalEmail(email) ?? email);
    await database.query(sql`
      UPDATE users SET email_verified_at = NULL WHERE email = ANY (${emails}::text[]) AND email_verified_at IS NOT NULL`);
    response.status(204).end();
  };
}

function parseEvents(body: Buffer): z.infer<typeof MailEvents>["events"] {
  let sent: unknown;
  try {
    sent = JSON.parse(body.toString());
  } catch {
    throw new ApiError("invalid_input", { message: "The body is not JSON." });
  }
  const parsed = MailEvents.safeParse(sent);
  if (parsed.success) return parsed.data.events;
  const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  throw new ApiError("invalid_input", { issues });
}
