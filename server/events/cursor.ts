import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { ApiError } from "../errors.ts";
import { NIL_UUID } from "../store/connection.ts";

/**
 * A point of the log: behind the event at `position`. At position 0, before the first one, there is no event. A point is good
 * in every copy of the log in which its event stands at its position, because then everything before it is the same too
 * (docs/architecture.md "The log").
 */
export interface LogPosition {
  position: number;
  eventId: string | null;
}

/** The parameter that a cursor was sent in. */
export type CursorField = "after" | "lastEventId";

/** A place that a client sent. */
export interface SentPosition extends LogPosition {
  /** Set when the cursor was not encrypted, as those that were issued before this version. Anybody can write such a one. */
  plainIn?: CursorField;
}

/** Makes and reads the cursors that clients continue from. */
export interface Cursors {
  /** Every call returns another one, so that equal cursors do not tell that nothing has happened to anyone. */
  encrypt(place: LogPosition): string;
  /** Throws `invalid_input`, about the field that it was sent in, for what is no cursor of this service. */
  decrypt(text: string, field?: CursorField): SentPosition;
}

const PLACE_BYTES = 24;
const SALT_BYTES = 16;
const TAG_BYTES = 16;
const ENCRYPTED_BYTES = SALT_BYTES + PLACE_BYTES + TAG_BYTES;
/** A cursor that is not encrypted begins with 16 bytes that mean nothing any more. */
const PLAIN_BYTES = 16 + PLACE_BYTES;
/** Each key encrypts one cursor, so its nonce can be fixed. */
const NONCE = Buffer.alloc(12);

/**
 * A cursor is a place under AES-256-GCM, with a key of its own that is derived from the session secret and the cursor's random
 * salt: random nonces under one key would be safe for 2^32 cursors only. It tells nobody how far the log has come. The newest
 * secret, the first one, encrypts; the others still decrypt.
 */
export function openCursors(sessionSecrets: readonly string[]): Cursors {
  const secrets = sessionSecrets.map((secret) => Buffer.from(hkdfSync("sha256", secret, "", "rebid event cursor", 32)));
  const [newest] = secrets;
  if (newest === undefined) throw new Error("there is no session secret");
  return {
    encrypt(place) {
      const salt = randomBytes(SALT_BYTES);
      const cipher = createCipheriv("aes-256-gcm", keyOf(newest, salt), NONCE);
      return Buffer.concat([salt, cipher.update(bytesOf(place)), cipher.final(), cipher.getAuthTag()]).toString(
        "base64url",
      );
    },
    decrypt(text, field = "after") {
      const bytes = Buffer.from(text, "base64url");
      const place = bytes.toString("base64url") === text ? read(bytes, secrets, field) : null;
      if (place === null) throw notACursor(field);
      return place;
    },
  };
}

/** The error for a text that is no cursor of this service. */
export function notACursor(field: CursorField): ApiError {
  const message = `\`${field}\` must be the \`nextCursor\` of an earlier answer, or \`latest\`.`;
  return new ApiError("invalid_input", { issues: [{ path: field, message }] });
}

function read(bytes: Buffer, secrets: readonly Buffer[], field: CursorField): SentPosition | null {
  if (bytes.length === PLAIN_BYTES) {
    const place = placeOf(bytes.subarray(-PLACE_BYTES));
    return Number.isSafeInteger(place.position) ? { ...place, plainIn: field } : null;
  }
  if (bytes.length !== ENCRYPTED_BYTES) return null;
  for (const secret of secrets) {
    const place = decrypt(bytes, secret);
    if (place !== null) return placeOf(place);
  }
  return null;
}

const keyOf = (secret: Buffer, salt: Buffer) => createHmac("sha256", secret).update(salt).digest();

function decrypt(bytes: Buffer, secret: Buffer): Buffer | null {
  const key = keyOf(secret, bytes.subarray(0, SALT_BYTES));
  const decipher = createDecipheriv("aes-256-gcm", key, NONCE, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const place = decipher.update(bytes.subarray(SALT_BYTES, -TAG_BYTES));
  try {
    decipher.final();
    return place;
  } catch {
    // Encrypted with another secret, or altered.
    return null;
  }
}

function bytesOf({ position, eventId }: LogPosition): Buffer {
  const bytes = Buffer.alloc(PLACE_BYTES);
  bytes.writeBigUInt64BE(BigInt(position));
  Buffer.from((eventId ?? NIL_UUID).replaceAll("-", ""), "hex").copy(bytes, 8);
  return bytes;
}

function placeOf(bytes: Buffer): LogPosition {
  const id = bytes.toString("hex", 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { position: Number(bytes.readBigUInt64BE()), eventId: id === NIL_UUID ? null : id };
}
