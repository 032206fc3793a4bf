import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { snippetPath, snippets } from "../../server/http/webhookDocs/page.ts";
import { generateSigningSecret, signatureOf } from "../../server/webhooks/sign.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const run = promisify(execFile);

const secret = generateSigningSecret();
const body = Buffer.from(JSON.stringify({ id: "1", data: { task: { title: 'Kääntäjä 🦉 \\ " $HOME `id`' } } }));
const now = new Date();
const good = signatureOf(body, secret, now);

/** Deliveries that every snippet on the page must accept (`valid`) or refuse. */
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
const programs: Record<
  (typeof snippets)[number]["file"],
  { tool: string; arguments: string[]; files: Record<string, string> }
> = {
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
    tool: "go",
    arguments: ["test", "-count=1", "./..."],
    files: {
      "go.mod": "module webhook\n",
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

describe.each(snippets)("the page's snippet in $language", async ({ file }) => {
  const program = programs[file];
  test.runIf(await exists(program.tool))(
    "accepts the delivery that was sent, and refuses every other",
    { timeout: 120_000 },
    async () => {
      const directory = await mkdtemp(join(tmpdir(), "rebid-snippet-"));
      await copyFile(snippetPath(file), join(directory, file));
      for (const [name, content] of Object.entries(program.files)) await writeFile(join(directory, name), content);
      const verdicts: Record<string, boolean> = {};
      for (const [name, sent, header, key] of cases) {
        await writeFile(join(directory, "body.json"), sent);
        verdicts[name] = await run(program.tool, program.arguments, {
          cwd: directory,
          env: { ...process.env, GOFLAGS: "-mod=mod", GOPROXY: "off", HEADER: header, SECRET: key },
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
});

test("the page is public and shows exactly the snippets tested here", async () => {
  const page = await rest(service.url, "GET", "/docs/webhooks");
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toContain("text/html");
  const text = page.text.replace(/&#(\d+);/g, (_match, code) => String.fromCharCode(Number(code)));
  for (const { file } of snippets) {
    expect(text).toContain((await readFile(fileURLToPath(snippetPath(file)), "utf8")).trim());
  }
});
