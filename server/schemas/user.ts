import { z } from "zod";
import { countCharacters, idOf, line, Timestamp, text } from "./common.ts";
import { must } from "./messages.ts";

/** A user as that user sees it. */
export const User = z
  .object({
    id: idOf("user"),
    email: z.string().meta({
      description: "In its canonical form: trimmed, lower case, the domain in ASCII. Nobody else sees it.",
      format: "email",
      example: "ada@example.com",
    }),
    displayName: z.string().meta({ description: "The name that other people see.", example: "Ada" }),
    createdAt: Timestamp.meta({ description: "When the account was created." }),
    emailVerifiedAt: Timestamp.nullable().meta({
      description: "When the owner of the address first used a link that was sent to it. Nothing waits for this.",
      example: null,
    }),
    // Answers that were kept before this field existed do not have it.
    timeZone: z.string().nullable().prefault(null).meta({
      description: "Where you are, as an IANA name: when the daily mail comes. Null is UTC.",
      example: "Europe/Helsinki",
    }),
  })
  .meta({ id: "User", description: "A user, as that user sees it." });
export type User = z.infer<typeof User>;

/**
 * Returns the form in which email addresses are stored and compared: NFKC, trimmed, lower case, the domain in ASCII.
 * Returns null for invalid addresses, and for invisible characters, which would make two addresses look the same.
 */
export function canonicalEmail(input: string): string | null {
  const address = input.normalize("NFKC").trim().toLowerCase();
  const at = address.lastIndexOf("@");
  if (at < 1 || countCharacters(address) > 254) return null;
  const local = address.slice(0, at);
  const domain = asciiDomain(address.slice(at + 1));
  if (domain === null || countCharacters(local) > 64 || /[\s@"(),:;<>[\]\\\p{C}]/u.test(local)) return null;
  if (local.startsWith(".") || local.endsWith(".") || local.includes("..")) return null;
  return `${local}@${domain}`;
}

function asciiDomain(domain: string): string | null {
  if (/[\s/?#:@\\%[\]]/.test(domain)) return null;
  try {
    const { hostname } = new URL(`http://${domain}`);
    return /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(hostname) ? hostname : null;
  } catch {
    return null;
  }
}

export const Email = text(0, 320)
  .transform((input, context) => {
    const email = canonicalEmail(input);
    if (email !== null) return email;
    context.addIssue({ code: "invalid_format", format: "email", input });
    return z.NEVER;
  })
  .meta({
    description: "An email address; compared without regard to case.",
    format: "email",
    example: "ada@example.com",
  });

export const DisplayName = line(1, 80).meta({
  description: "The name that other people see. One line, trimmed.",
  example: "Ada",
});

/** Whether it is the name of a zone, such as `Europe/Helsinki`, and no offset. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export const TimeZone = text(1, 64)
  .refine(isTimeZone, { error: must("be the IANA name of a time zone, such as Europe/Helsinki") })
  .meta({ description: "The IANA name of a time zone. Null is UTC.", example: "Europe/Helsinki" });

export const Password = text(8, 128).meta({
  description: "Any text. In production, the commonest passwords are refused.",
  format: "password",
  example: "a long password",
});

/**
 * A password to be checked against the stored hash. Passwords of more than 128 code points could be set before lengths
 * were counted in them, so this accepts longer ones than `Password`.
 */
export const PasswordAttempt = text(0, 2_048).meta({
  description: "The account's password.",
  format: "password",
  example: "a long password",
});

/** The secret of a link in a mail. Whether it is one of ours is checked against the stored hashes, not against a pattern. */
export const AccountToken = text(1, 200).meta({
  description: "`token` of the link in the mail.",
  example: "TPmBmoiiNmJqPGJCDXk7Gf",
});

/** Where a session was begun, for whoever has to recognise it. Sessions from before this was kept have neither. */
export const SessionOrigin = z.object({
  userAgent: z.string().nullable().meta({
    description: "What the browser called itself, up to 300 characters.",
    example: "Mozilla/5.0 (X11; Linux)",
  }),
  address: z
    .string()
    .nullable()
    .meta({ description: "The address that it signed in from; of IPv6, the network.", example: "203.0.113.9" }),
});
