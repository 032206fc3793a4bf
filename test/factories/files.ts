import { crc32, deflateRawSync, deflateSync } from "node:zlib";

// Small, valid files of several formats, built from their specifications.

const u16 = (value: number) => Buffer.from([value >> 8, value & 255]);
function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  return Buffer.concat([u32(data.length), body, u32(crc32(body))]);
}

/** A grey image. */
export function pngFile(width: number, height: number): Buffer {
  const header = Buffer.concat([u32(width), u32(height), Buffer.from([8, 0, 0, 0, 0])]);
  const pixels = deflateSync(Buffer.alloc(height * (width + 1)));
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
}

/** Silence: 8,000 samples a second of one byte each. */
export function wavFile(seconds: number): Buffer {
  const samples = Buffer.alloc(seconds * 8_000, 128);
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8_000, 24);
  header.writeUInt32LE(8_000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write("data", 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** A box of ISO base media (ISO 14496-12). */
export function box(type: string, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([u32(body.length + 8), Buffer.from(type), body]);
}

/** A video of one track whose index comes last, as a camera writes it; `mediaBytes` bytes of media stand before it. */
export function mp4File(file: { width: number; height: number; seconds: number; mediaBytes: number }): Buffer {
  const milliseconds = u32(file.seconds * 1_000);
  const zeros = (count: number) => Buffer.alloc(count);
  const sample = Buffer.concat([
    ...[zeros(6), u16(1), zeros(16), u16(file.width), u16(file.height)],
    ...[u32(0x480000), u32(0x480000), zeros(4), u16(1), zeros(32), u16(24), u16(0xffff)],
  ]);
  const table = box("stbl", box("stsd", zeros(4), u32(1), box("avc1", sample)));
  const mediaHeader = box("mdhd", zeros(12), u32(1_000), milliseconds, zeros(4));
  const handler = box("hdlr", zeros(8), Buffer.from("vide"), zeros(13));
  const trackHeader = box("tkhd", zeros(12), u32(1), zeros(4), milliseconds, zeros(60));
  const track = box("trak", trackHeader, box("mdia", mediaHeader, handler, box("minf", table)));
  const movieHeader = box("mvhd", zeros(12), u32(1_000), milliseconds, zeros(80));
  return Buffer.concat([
    box("ftyp", Buffer.from("isom"), u32(512), Buffer.from("isomavc1mp41")),
    box("mdat", zeros(file.mediaBytes)),
    box("moov", movieHeader, track),
  ]);
}

/** A zip archive with one compressed file. */
export function zipFile(name: string, content: Buffer): Buffer {
  const compressed = deflateRawSync(content);
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(crc32(content), 0);
  sizes.writeUInt32LE(compressed.length, 4);
  sizes.writeUInt32LE(content.length, 8);
  const nameLength = Buffer.from([name.length, 0]);
  const local = Buffer.concat([Buffer.from("504b0304140000000800", "hex"), Buffer.alloc(4), sizes, nameLength]);
  return Buffer.concat([local, Buffer.alloc(2), Buffer.from(name), compressed]);
}
