/**
 * `npm run agents`: two scripted agents trade on a service of their own, one over MCP, the other over the SDK. Exits with 1
 * when a step fails.
 */
import { startFreshService } from "./service.ts";
import { trade } from "./trade.ts";

console.log(
  "\nTwo agents trade: Ada's knows the tools at /mcp, Bo's the SDK. A service without any data starts for them …",
);
const service = await startFreshService();
// Also while it starts: whoever gives up waiting leaves no process and no files behind.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => service.stop().finally(() => process.exit(1)));
let exitCode = 0;
try {
  await trade(await service.ready);
  console.log("\nDone: from the first cent to the last. After the preparation, the agents alone moved the money.\n");
} catch (error) {
  console.error(`\nThe trade failed: ${error instanceof Error ? error.message : error}`);
  exitCode = 1;
} finally {
  await service.stop();
}
process.exit(exitCode);
