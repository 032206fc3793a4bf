import getPort, { portNumbers } from "get-port";

const FIRST = 10_000;
/** From here on, Linux picks the ports of connections and of servers that ask for any. */
const END = 32_768;
const CHOICE = 1_000;

/**
 * Returns a port for a process that is about to start. Nothing else takes it until the process listens, unlike the port that
 * the system would pick.
 */
export function unusedPort(): Promise<number> {
  // By chance, because several workers choose at the same time.
  const first = FIRST + Math.floor(Math.random() * (END - FIRST - CHOICE));
  return getPort({ port: portNumbers(first, first + CHOICE) });
}
