import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { generateSigningSecret, signatureOf } from "../../server/webhooks/sign.ts";
import { blocksOf, builtDocs } from "./blocks.ts";

const run = promisify(execFile);

const secret = generateSigningSecret();
const body = Buffer.from(JSON.stringify({ id: "1", data: { task: { title: 'Kääntäjä 🦉 \\ " $HOME `id`' } } }));
const now = new Date();
const good = signatureOf(body, secret, now);

/** Deliveries that every snippet of the guide must accept (`valid`) or refuse. */
const cases: [name: string, body: Buffer, header: string, secret: string, valid: boolean][] = [
  ["what was sent", body, good, secret, true],
  ["a changed body", Buffer.concat([body, Buffer.from(" ")]), good, secret, false],
  ["another secret", body, good, generateSigningSecret(), false],
  ["an old signature", body, signatureOf(body, secret, new Date(now.getTime() - 301_000)), secret, false],
  ["a signature from the future", body, signatureOf(body, secret, new Date(now.getTime() + 330_000)), secret, false],
  ["a changed time", body, good.replace(/t=\d+/, `t=${Math.floor(now.getTime() / 1000) - 1}`), secret, false],
  ["a changed signature", body, good.replace(/.$/, (last) => (last === "0" ? "1" : "0")), secret, false],
  ["no signature", body, "t=1", secret, false],
  ["an empty header", body, "", secret, false],
  ["a command in the time", body, good.replace(/t=\d+/, "t=a[$(touch ran)]"), secret, false],
  ["a command as the header", body, "a[$(touch ran)]", secret, false],
];

/** A program around the snippet, as its reader would write one: exits with 0 if it accepts the delivery. */
const programs: Record<string, { tool: string; arguments: string[]; files: Record<string, string> }> = {
  "verify.ts": {
    tool: process.execPath,
    arguments: ["main.ts"],
    files: {
      "main.ts": `import { readFileSync } from "node:fs";
import { verify } from "./verify.ts";
verify(readFileSync("body.json"), process.env.HEADER ?? "", process.env.SECRET ?? "");`,
    },
  },
  "verify.py": {
    tool: "python3",
    arguments: ["main.py"],
    files: {
      "main.py": `import os
from verify import verify
verify(open("body.json", "rb").read(), os.environ["HEADER"], os.environ["SECRET"])`,
    },
  },
  "verify.go": {
    tool: "yaegi", // Debian's interpreter of Go
    arguments: ["test", "."],
    files: {
      "verify_test.go": `package webhook
import ("os"; "testing")
func TestVerify(t *testing.T) {
	body, _ := os.ReadFile("body.json")
	if err := Verify(body, os.Getenv("HEADER"), os.Getenv("SECRET")); err != nil { t.Fatal(err) }
}`,
    },
  },
  // bash, not sh: bash evaluates more of a hostile header than a plain sh does.
  "verify.sh": { tool: "bash", arguments: ["verify.sh"], files: {} },
};

const exists = (tool: string) =>
  run("which", [tool]).then(
    () => true,
    () => false,
  );

for (const [file, program] of Object.entries(programs)) {
  test.runIf(await exists(program.tool))(
    `the guide's ${file} accepts the delivery that was sent, and refuses every other`,
    async () => {
      const snippet = (await blocksOf(await builtDocs(), "webhooks")).find(({ info }) => info === file);
      const directory = await mkdtemp(join(tmpdir(), "rebid-snippet-"));
      await writeFile(join(directory, file), `${snippet?.code}\n`);
      for (const [name, content] of Object.entries(program.files)) await writeFile(join(directory, name), content);
      const verdicts: Record<string, boolean> = {};
      for (const [name, sent, header, key] of cases) {
        await writeFile(join(directory, "body.json"), sent);
        verdicts[name] = await run(program.tool, program.arguments, {
          cwd: directory,
          env: { ...process.env, HEADER: header, SECRET: key },
        }).then(
          () => true,
          () => false,
        );
      }
      const files = await readdir(directory);
      await rm(directory, { recursive: true });
      expect(files).not.toContain("ran");
      expect(verdicts).toEqual(Object.fromEntries(cases.map(([name, , , , valid]) => [name, valid])));
    },
  );
}
