import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Config, ConfigError, productionWarnings, readConfig } from "../../config.ts";
import { type Found, ok, problem, warning } from "./finding.ts";

const NODE_MAJOR = 24;

/** Looks at the settings and at what was installed. `config` is null if a start would refuse the settings. */
export function examineSettings(environment: NodeJS.ProcessEnv): { found: Found[]; config: Config | null } {
  const installed = [nodeFinding(), ...buildFinding(environment)];
  try {
    const config = readConfig(environment);
    const advice =
      "Change the setting before people use the service, or know why not: docs/guides/production-reference.md.";
    const warnings = productionWarnings(config).map((text) => warning(text, advice));
    const kind = config.production ? "the settings are those of production" : "the settings are a developer's";
    return { found: [ok(kind), ...warnings, ...installed], config };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const lines = error.message.split("\n");
    return { found: [...lines.map((line) => problem(line, "Change the setting.")), ...installed], config: null };
  }
}

function nodeFinding(): Found {
  const text = `Node.js ${process.versions.node}`;
  if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR) return ok(text);
  const advice = "Run node_modules/.bin/node, which `npm ci` installs, or `npm run`, which finds it.";
  return problem(`${text} is too old: ${NODE_MAJOR} is needed`, advice);
}

/** Outside production, a start builds it. */
function buildFinding({ NODE_ENV }: NodeJS.ProcessEnv): Found[] {
  if (NODE_ENV !== "production") return [];
  if (existsSync(join(import.meta.dirname, "../../../.build")))
    return [ok("the documentation and the console are built")];
  const advice = "Run `npm run build` where you prepare a release, and ship the folder .build with it.";
  return [warning("there is no documentation and no console: /docs and /app are 404", advice)];
}
