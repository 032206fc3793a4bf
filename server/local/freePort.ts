import getPort, { clearLockedPorts } from "get-port";

/** A free TCP port on 127.0.0.1: the preferred one if nothing listens there, else one that the system picks. */
export function freePort(preferred?: number): Promise<number> {
  // get-port does not return a port twice within some seconds; a part that is started again wants the one it had.
  clearLockedPorts();
  return getPort({ host: "127.0.0.1", ...(preferred !== undefined && { port: preferred }) });
}
