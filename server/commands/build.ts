import { buildSite } from "../sites/build.ts";
import { sites } from "../sites/sites.ts";
import { CommandFailure, runCommand, withArguments } from "./runCommand.ts";

const usage = `Builds the sites that the service serves as files: the documentation.

Usage:
  npm run build

Outside production, \`npm start\` does the same when something has changed. A release carries the result, .build/.`;

async function build(): Promise<void> {
  for (const site of sites) {
    const { outcome, failure, seconds } = await buildSite(site);
    if (outcome === "absent") throw new CommandFailure(`${site.name} could not be built.\n${failure ?? ""}`);
    console.log(outcome === "built" ? `${site.name}: built in ${seconds.toFixed(1)} s` : `${site.name}: is up to date`);
  }
}

await runCommand({ usage, parse: withArguments({ options: {}, maxPositionals: 0 }, () => build) });
