import { ApiError } from "../errors.ts";

/** A point of the log: behind the event at `position`. At position 0, before the first one, there is no event. */
export interface Place {
  epoch: string;
  position: number;
  eventId: string | null;
}

const NIL_UUID = "00000000-0000-0000-0000-000000000000";
const BYTES = 40;

const bytesOf = (uuid: string) => Buffer.from(uuid.replaceAll("-", ""), "hex");
const uuidOf = (bytes: Buffer) => bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

/**
 * Returns the cursor that clients continue from. It has the epoch, the position, and the id of the event at that position:
 * after a restore that nobody noticed, another event may have come to stand there.
 */
export function cursorOf({ epoch, position, eventId }: Place): string {
  const bytes = Buffer.alloc(BYTES);
  bytesOf(epoch).copy(bytes, 0);
  bytes.writeBigUInt64BE(BigInt(position), 16);
  bytesOf(eventId ?? NIL_UUID).copy(bytes, 24);
  return bytes.toString("base64url");
}

/** Throws `invalid_input` for a text that is not a cursor, about the field that it was sent in. */
export function placeOf(cursor: string, field = "after"): Place {
  const bytes = Buffer.from(cursor, "base64url");
  const position = bytes.length === BYTES ? bytes.readBigUInt64BE(16) : -1n;
  if (position < 0n || position > BigInt(Number.MAX_SAFE_INTEGER) || bytes.toString("base64url") !== cursor) {
    const message = `\`${field}\` must be the \`nextCursor\` of an earlier answer, or \`latest\`.`;
    throw new ApiError("invalid_input", { issues: [{ path: field, message }] });
  }
  const eventId = uuidOf(bytes.subarray(24));
  return {
    epoch: uuidOf(bytes.subarray(0, 16)),
    position: Number(position),
    eventId: eventId === NIL_UUID ? null : eventId,
  };
}
