import { AbstractTokenizer, EndOfStreamError, type IRandomAccessFileInfo, type IRandomAccessTokenizer } from "strtok3";

/** The first and the last bytes of a file. */
export interface FileParts {
  /** The size of the whole file. */
  bytes: number;
  start: Uint8Array;
  /** Empty when `start` is the whole file; otherwise it begins at or after the end of `start`. */
  end: Uint8Array;
}

type ReadOptions = Parameters<AbstractTokenizer["readBuffer"]>[1];

/** A longer read is a mistake of the parser, or a trap in the file: everything that is looked for is small. */
const MAX_READ_BYTES = 1_000_000;
/**
 * Each element of a file takes at least one read. Honest files took up to 30; a file of 700 kB made of empty MP4 boxes took
 * 180,000, which is 0.7 s of CPU time.
 */
const MAX_READS = 5_000;

/**
 * The parts of a file, in the form that the parsers read. They may skip to any position, but a read of bytes that are not
 * in the parts fails as if the file ended there.
 */
export class PartialFile extends AbstractTokenizer implements IRandomAccessTokenizer {
  override readonly fileInfo: IRandomAccessFileInfo;
  private readonly parts: FileParts;
  private reads = 0;

  constructor(parts: FileParts) {
    super({ maxBufferSize: MAX_READ_BYTES });
    this.parts = parts;
    this.fileInfo = { size: parts.bytes };
  }

  override async readBuffer(target: Uint8Array, options?: ReadOptions): Promise<number> {
    const count = await this.peekBuffer(target, options);
    this.position = (options?.position ?? this.position) + count;
    return count;
  }

  override async peekBuffer(target: Uint8Array, options?: ReadOptions): Promise<number> {
    const { length, position, mayBeLess } = this.normalizeOptions(target, options);
    this.reads += 1;
    if (this.reads > MAX_READS) throw new Error("the file has too many elements");
    const available = this.partFrom(position).subarray(0, length);
    if (available.length < length && !mayBeLess) throw new EndOfStreamError();
    target.set(available);
    return available.length;
  }

  override supportsRandomAccess(): boolean {
    return true;
  }

  setPosition(position: number): void {
    this.validateLength(position, "position");
    this.position = position;
  }

  /** Returns what is there of the file from this position, up to the next gap. */
  private partFrom(position: number): Uint8Array {
    const { bytes, start, end } = this.parts;
    const endsFrom = bytes - end.length;
    return position < endsFrom ? start.subarray(position) : end.subarray(position - endsFrom);
  }
}
