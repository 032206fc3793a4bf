import { box } from "./files.ts";

const u32 = (value: number) => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value]);
const u32le = (value: number) => u32(value).reverse();
const many = (bytes: Buffer, count: number) => Buffer.concat(Array.from({ length: count }, () => bytes));
const hex = (digits: string) => Buffer.from(digits, "hex");

const ftyp = (brand: string) => box("ftyp", Buffer.from(`${brand}\0\0\0\0${brand}`));
const sized = (id: string, size: Buffer, ...content: Buffer[]) => Buffer.concat([Buffer.from(id), size, ...content]);
const ispe = box("ispe", u32(0), u32(10), u32(10));
const info = many(sized("INAM", u32le(2), Buffer.from("ab")), 70_000);
const annotations = many(sized("ANNO", u32(0)), 90_000);

/** Files of less than 1 MB each that keep a parser busy, by what they are made of. */
export const craftedFiles: Record<string, () => Buffer> = {
  "empty MP4 boxes": () => Buffer.concat([ftyp("isom"), many(box("free"), 90_000)]),
  "HEIC ispe": () => Buffer.concat([ftyp("heic"), box("meta", u32(0), box("iprp", box("ipco", many(ispe, 35_000))))]),
  "AIFF annotations": () => sized("FORM", u32(annotations.length + 4), Buffer.from("AIFF"), annotations),
  "RIFF INFO": () => {
    const list = sized("LIST", u32le(info.length + 4), Buffer.from("INFO"), info);
    return sized("RIFF", u32le(list.length + 4), Buffer.from("WAVE"), list);
  },
  "WebM voids": () =>
    Buffer.concat([
      hex("1a45dfa3a34286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff"),
      many(hex("ec80"), 400_000),
    ]),
  "MP3 syncs": () => Buffer.concat([hex("fffb9064"), many(hex("ffe0"), 400_000)]),
  "JXL parts": () => Buffer.concat([hex("0000000c4a584c200d0a870a"), ftyp("jxl "), many(box("jxlp"), 90_000)]),
  "Ogg pages": () => many(Buffer.concat([Buffer.from("OggS"), Buffer.alloc(10), hex("01"), Buffer.alloc(12)]), 30_000),
  "FLAC blocks": () =>
    Buffer.concat([
      Buffer.from("fLaC"),
      hex("00000022"),
      hex("1000100000000e0000100ac442f000000000".padEnd(68, "0")),
      many(hex("01000000"), 190_000),
    ]),
};
