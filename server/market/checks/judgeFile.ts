import { createHash } from "node:crypto";
import { nothingKnown } from "../../gateways/inspection/inspection.ts";
import { END_BYTES, START_BYTES } from "../../gateways/inspection/inspector.ts";
import { failed, faulty, number, outOfBounds, passed, quoted } from "../../gateways/judging/verdict.ts";
import { type BuiltInCheck, MAX_JUDGED_BYTES } from "../../schemas/check.ts";
import type { Verdict } from "../../schemas/checkResult.ts";
import type { Services } from "../../services.ts";
import { checkType, isSameType } from "../uploads/typeCheck.ts";

/** An object of the store, as it was declared. */
export interface JudgedFile {
  storageKey: string;
  bytes: number;
  mimeType: string;
  sha256: string | null;
}

/** What judging needs; `storage` has the file's bytes. */
export type Judging = Pick<Services, "inspector" | "judge"> & { storage: Pick<Services["storage"], "read"> };
type CheckOf<Kind extends BuiltInCheck["kind"]> = Extract<BuiltInCheck, { kind: Kind }>;

/** A file is read in parts of this size, so that a slow store delays one part and not all of it. */
const PART_BYTES = 4_000_000;

/**
 * Judges a file by each check: the one way to a verdict, before and after a delivery. The same bytes, declared as the same type,
 * have the same verdict. Throws only when the store cannot be read.
 */
export async function judgeFile(
  services: Judging,
  file: JudgedFile,
  checks: readonly BuiltInCheck[],
): Promise<Verdict[]> {
  const reads = readsOf(services, file);
  const verdicts: Verdict[] = [];
  for (const check of checks) verdicts.push(await judgeBy(services, check, file, reads));
  return verdicts;
}

type Reads = ReturnType<typeof readsOf>;

async function judgeBy({ judge }: Judging, check: BuiltInCheck, file: JudgedFile, reads: Reads): Promise<Verdict> {
  const { bytes } = file;
  switch (check.kind) {
    case "size":
      return judgeSize(bytes, check);
    case "sha256":
      return judgeHash(await reads.sha256(), check);
    case "type":
      return judgeType(file.mimeType, await reads.inspection(), check);
    case "image":
      return judgeImage(await reads.inspection(), check);
    case "archive":
      return judge.judge(check, { bytes, content: await reads.end() });
    default: {
      if (bytes > MAX_JUDGED_BYTES)
        return faulty(`The file has more than ${number(MAX_JUDGED_BYTES)} bytes, too many to judge.`);
      return judge.judge(check, { bytes, content: await reads.end() });
    }
  }
}

/** What checks read of a file, each at most once. */
function readsOf({ storage, inspector }: Judging, { storageKey, bytes, sha256 }: JudgedFile) {
  async function* parts(start: number, end: number) {
    for (let at = start; at < end; at += PART_BYTES)
      yield await storage.read(storageKey, at, Math.min(end, at + PART_BYTES));
  }
  const whole = async (start: number, end: number) => {
    const found: Uint8Array[] = [];
    for await (const part of parts(start, end)) found.push(part);
    return Buffer.concat(found);
  };
  return {
    /** The last bytes that are judged: the whole file, unless it is an archive. */
    end: once(() => whole(Math.max(0, bytes - MAX_JUDGED_BYTES), bytes)),
    sha256: once(async () => {
      if (sha256 !== null) return sha256;
      const hash = createHash("sha256");
      for await (const part of parts(0, bytes)) hash.update(part);
      return hash.digest("hex");
    }),
    inspection: once(async () => {
      const start = await whole(0, Math.min(bytes, START_BYTES));
      const end = await whole(Math.max(start.length, bytes - END_BYTES), bytes);
      return inspector.inspect({ bytes, start, end });
    }),
  };
}

function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}

function judgeSize(bytes: number, { minBytes, maxBytes }: CheckOf<"size">): Verdict {
  const wrong = outOfBounds(bytes, "bytes", { min: minBytes, max: maxBytes });
  return wrong === null ? passed(`${number(bytes)} bytes.`) : failed(wrong);
}

function judgeHash(actual: string, { sha256 }: CheckOf<"sha256">): Verdict {
  return actual === sha256 ? passed("It is the agreed file.") : failed(`Its SHA-256 is ${actual}.`);
}

const notInspected = faulty("What the file is cannot be found out within the limits of time and memory.");

function judgeType(
  declared: string,
  inspection: Awaited<ReturnType<Services["inspector"]["inspect"]>>,
  { types }: CheckOf<"type">,
): Verdict {
  if (inspection === nothingKnown) return notInspected;
  const { detectedMimeType } = checkType(declared, inspection);
  if (detectedMimeType === null) return failed("The file's type is not recognised.");
  // Text has no signature: of its kind, there is only the bidder's word.
  const source = inspection.isText && inspection.mimeType === null ? ", as it was declared: text has no signature" : "";
  const isAgreed = types.some((type) => isSameType(type, detectedMimeType));
  const what = `The file is ${quoted(detectedMimeType).slice(1, -1)}${source}.`;
  return isAgreed ? passed(what) : failed(what);
}

function judgeImage(
  inspection: Awaited<ReturnType<Services["inspector"]["inspect"]>>,
  { minWidth, maxWidth, minHeight, maxHeight }: CheckOf<"image">,
): Verdict {
  if (inspection === nothingKnown) return notInspected;
  const { mimeType, dimensions } = inspection;
  if (!mimeType?.startsWith("image/")) return failed("The file is not an image.");
  if (dimensions === null) return failed("The image does not state its size.");
  const wrong =
    outOfBounds(dimensions.width, "pixels wide", { min: minWidth, max: maxWidth }) ??
    outOfBounds(dimensions.height, "pixels high", { min: minHeight, max: maxHeight });
  return wrong === null ? passed(`${number(dimensions.width)} × ${number(dimensions.height)} pixels.`) : failed(wrong);
}
