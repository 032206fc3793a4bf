import { prunePushKeys, rotatePushKey } from "../notifications/pushKeys.ts";
import type { Services } from "../services.ts";
import { withServices } from "./openServices.ts";
import { type Command, runCommand, subcommands, withArguments } from "./runCommand.ts";

const usage = `Replaces the key that signs Web Push messages, while Rebid runs.

Usage:
  npm run push-keys -- rotate
      Makes a new key, which browsers subscribe with from now on. Browsers that have subscribed go on being told with the old
      key, until they subscribe anew or their session ends.

Exit codes:
  0  done
  1  failed
  2  the arguments are invalid`;

async function rotate({ database }: Pick<Services, "database">): Promise<void> {
  const { generation, publicKey } = await rotatePushKey(database);
  await prunePushKeys(database);
  console.log(`Browsers subscribe with key ${generation} from now on: ${publicKey}`);
}

const parse = subcommands({
  rotate: withArguments({ options: {}, maxPositionals: 0 }, () => withServices(rotate)),
});

export const command: Command = { usage, parse };

if (import.meta.main) await runCommand(command);
