import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { inspectFile } from "../../server/gateways/inspection/inspectFile.ts";
import { nothingKnown } from "../../server/gateways/inspection/inspection.ts";
import { openInspector } from "../../server/gateways/inspection/inspector.ts";
import { PartialFile } from "../../server/gateways/inspection/partialFile.ts";
import { craftedFiles } from "../factories/craftedFiles.ts";
import { box, mp4File, pngFile, wavFile, zipFile } from "../factories/files.ts";

const whole = (bytes: Buffer) => ({ bytes: bytes.length, start: new Uint8Array(bytes), end: new Uint8Array() });
const png = whole(pngFile(3, 2));

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rebid-inspection-"));
});
afterAll(() => rm(directory, { recursive: true }));

/** An inspector whose thread runs this program on every file whose first byte is 1, and the real one on others. */
async function misbehaving(program: string, cpuMs: number) {
  const real = new URL("../../server/gateways/inspection/inspectFile.ts", import.meta.url).href;
  const path = join(directory, `${crypto.randomUUID()}.mjs`);
  await writeFile(
    path,
    `import { parentPort } from "node:worker_threads";
     import { inspectFile } from ${JSON.stringify(real)};
     parentPort.on("message", async (parts) => {
       if (parts.start[0] === 1) { ${program} }
       parentPort.postMessage(await inspectFile(parts));
     });
     parentPort.postMessage("ready");`,
  );
  const warnings: unknown[] = [];
  const log = { warn: (...parameters: unknown[]) => void warnings.push(parameters) };
  return { inspector: openInspector({ log, cpuMs, program: pathToFileURL(path) }), warnings };
}

const trap = { bytes: 1, start: new Uint8Array([1]), end: new Uint8Array() };
test.each([
  ["never ends", "for (;;);", 1_000],
  ["takes all memory", "const all = []; for (;;) all.push(new Array(100_000).fill(all.length));", 60_000],
  ["throws where nobody catches", "setTimeout(() => { throw new Error('late'); }); return;", 60_000],
  ["ends the thread", "process.exit(0);", 60_000],
])("a parser that %s costs only its own file", async (_name, program, cpuMs) => {
  const { inspector, warnings } = await misbehaving(program, cpuMs);
  const answers = await Promise.all([trap, png].map((parts) => inspector.inspect(parts)));
  expect(answers).toEqual([nothingKnown, expect.objectContaining({ mimeType: "image/png" })]);
  expect(warnings.length).toBeGreaterThan(0);
  await inspector.close();
});

test("a compressed file that would inflate to 200 MB is not inflated", async () => {
  const bomb = whole(zipFile("[Content_Types].xml", Buffer.alloc(200_000_000)));
  const before = process.memoryUsage().arrayBuffers;
  expect(await inspectFile(bomb)).toMatchObject({ mimeType: "application/zip" });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
});

test.each([
  [
    "boxes of size 0",
    Buffer.concat([box("ftyp", Buffer.from("isom\0\0\x02\0")), Buffer.alloc(4), Buffer.from("moov")]),
  ],
  [
    "a box that claims 4 GB",
    Buffer.concat([box("ftyp", Buffer.from("isom\0\0\x02\0")), Buffer.from("fffffff06d6f6f76", "hex")]),
  ],
  [
    "thousands of nested boxes",
    Array.from({ length: 5_000 }).reduce<Buffer>((inner) => box("moov", inner), Buffer.alloc(0)),
  ],
  ["a picture of 0 pixels", pngFile(1, 1).fill(0, 16, 24)],
])("%s are no reason to fail", async (_name, bytes) => {
  expect(await inspectFile(whole(bytes))).toMatchObject({ dimensions: null, durationSec: null });
});

test.each(Object.keys(craftedFiles))(
  "a crafted file of %s costs less than the bound of elements allows",
  async (name) => {
    const bytes = craftedFiles[name]?.() ?? Buffer.alloc(0);
    expect(bytes.length).toBeLessThan(1_000_000);
    const read = vi.spyOn(PartialFile.prototype, "peekBuffer");
    await inspectFile(whole(bytes));
    // Type and measures each have a reader of their own.
    expect(read.mock.calls.length).toBeLessThanOrEqual(2 * 5_001);
    read.mockRestore();
  },
);

test("an HEIC states its size within its first 64 KiB, and boxes behind them are not searched", async () => {
  const pictureOf = (count: number) => {
    const ispe = box("ispe", Buffer.from("000000000000002800000021", "hex"));
    const boxes = Buffer.concat(Array.from({ length: count }, () => ispe));
    const brand = box("ftyp", Buffer.from("heic\0\0\0\0heicmif1"));
    const meta = box("meta", Buffer.alloc(4), box("iprp", box("ipco", boxes)));
    return whole(Buffer.concat([brand, meta, box("mdat", Buffer.alloc(100_000, 1))]));
  };
  expect(await inspectFile(pictureOf(1))).toMatchObject({ dimensions: { width: 40, height: 33 } });
  expect(await inspectFile(pictureOf(30_000))).toMatchObject({ mimeType: "image/heic", dimensions: null });
});

test("damaged files never make it throw, and never state impossible measures", async () => {
  const originals = [
    pngFile(3, 2),
    wavFile(1).subarray(0, 200),
    mp4File({ width: 16, height: 9, seconds: 1, mediaBytes: 10 }),
    zipFile("mimetype", Buffer.from("application/epub+zip")),
    Buffer.from("ffd8ffe000104a46494600010100000100010000ffc0000b08001000200101110000ffda", "hex"),
    Buffer.from("GIF89a\x05\0\x06\0\0\0\0"),
    Buffer.from("1a45dfa3a34286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffff", "hex"),
    Buffer.from("OggS\0\x02\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\x1e\x01vorbis", "latin1"),
    Buffer.from("ID3\x04\0\0\0\0\x02\x01TIT2", "latin1"),
  ];
  const damage = fc.array(fc.tuple(fc.nat(600), fc.nat(255)), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...originals), damage, fc.nat(600), async (original, changes, cut) => {
      const bytes = Buffer.from(original.subarray(0, Math.max(1, original.length - (cut % 50))));
      for (const [position, value] of changes) bytes[position % bytes.length] = value;
      const { dimensions, durationSec } = await inspectFile(whole(bytes));
      for (const measure of [dimensions?.width, dimensions?.height]) {
        if (measure !== undefined) expect(Number.isInteger(measure) && measure >= 1 && measure < 2 ** 31).toBe(true);
      }
      if (durationSec !== null) expect(durationSec >= 0 && durationSec < 2 ** 31).toBe(true);
    }),
    { numRuns: 500 },
  );
});
