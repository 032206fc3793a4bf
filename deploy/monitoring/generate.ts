/** `npm run monitoring`: writes the Prometheus rules, their tests, and the Grafana dashboard from the lists beside it. */
import { writeFile } from "node:fs/promises";
import { stringify } from "yaml";
import { dashboard } from "./dashboard.ts";
import { rules, ruleTests } from "./rules.ts";

const NOTICE = "# Written by `npm run monitoring` from alerts.ts.\n";
const write = (name: string, text: string) => writeFile(new URL(name, import.meta.url), text);

await write("rebid.rules.yaml", NOTICE + stringify(rules(), { lineWidth: 0 }));
await write("rebid.rules.test.yaml", NOTICE + stringify(ruleTests(), { lineWidth: 0 }));
await write("dashboard.json", `${JSON.stringify(dashboard(), null, 2)}\n`);
