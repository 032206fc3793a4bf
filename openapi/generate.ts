import { readFile, writeFile } from "node:fs/promises";
import { openApiDocument } from "../server/http/openApi/document.ts";
import { appRouter } from "../server/procedures/router.ts";

// Writes openapi.json; with --check it writes nothing and fails when the file says something else than the code.
const file = new URL("openapi.json", import.meta.url);
const generated = `${JSON.stringify(openApiDocument(appRouter, "http://localhost:3000"), null, 2)}\n`;

if (!process.argv.includes("--check")) {
  await writeFile(file, generated);
} else if ((await readFile(file, "utf8").catch(() => "")) !== generated) {
  console.error("openapi/openapi.json differs from the code: run `npm run openapi` and commit the result.");
  process.exitCode = 1;
}
