import { writeFile } from "node:fs/promises";
import { openApiDocument } from "../server/http/openApi/document.ts";
import { appRouter } from "../server/procedures/router.ts";

// `npm run openapi` writes openapi.json. A test fails when the committed file differs from the code.
const document = openApiDocument(appRouter, "http://localhost:3000");
await writeFile(new URL("openapi.json", import.meta.url), `${JSON.stringify(document, null, 2)}\n`);
