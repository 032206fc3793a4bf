import { fromRandomAccessReaderPromise, RandomAccessReader } from "yauzl";
import type { Verdict } from "../../schemas/checkResult.ts";
import { failed, faulty, passed, quoted } from "./verdict.ts";

/** Honest archives that are judged have a few thousand; a list of as many as fit costs 0.5 s of CPU time for 100,000. */
const MAX_ENTRIES = 100_000;

/** What is wanted is in front of the part that was read. */
class BeyondTail extends Error {}

/** The end of an archive, in which the list of its files is. */
class Tail extends RandomAccessReader {
  private readonly tail: Uint8Array;
  private readonly startsAt: number;

  constructor(tail: Uint8Array, bytes: number) {
    super();
    this.tail = tail;
    this.startsAt = bytes - tail.length;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    const from = position - this.startsAt;
    const isThere = from >= 0 && from + length <= this.tail.length;
    if (isThere) buffer.set(this.tail.subarray(from, from + length), offset);
    callback(isThere ? null : from < 0 ? new BeyondTail() : new Error("the file ends before"));
  }

  override close(callback: (error: Error | null) => void): void {
    callback(null);
  }
}

/**
 * Judges a zip archive by the list at its end, and unpacks nothing. `tail` is the end of the file, or all of it.
 */
export async function judgeArchive(tail: Uint8Array, bytes: number, { paths }: { paths: string[] }): Promise<Verdict> {
  const missing = new Set(paths);
  let entries = 0;
  try {
    // What it says about sizes is of no interest.
    const archive = await fromRandomAccessReaderPromise(new Tail(tail, bytes), bytes, { validateEntrySizes: false });
    for await (const { fileName } of archive.eachEntry()) {
      missing.delete(fileName);
      entries++;
      if (missing.size === 0) break;
      if (entries >= MAX_ENTRIES) return faulty("The archive has too many files to look through.");
    }
  } catch (error) {
    if (error instanceof BeyondTail && bytes > tail.length) return faulty("The archive's list of files is too long.");
    return failed("The file is not a zip archive that can be read.");
  }
  const [first] = missing;
  if (first === undefined) return passed(`All ${paths.length} names are in the archive.`);
  return failed(`${missing.size} of ${paths.length} names are not in the archive; the first is ${quoted(first)}.`);
}
