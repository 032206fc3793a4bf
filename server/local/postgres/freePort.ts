import getPort, { clearLockedPorts } from "get-port";

/** Returns a free TCP port on 127.0.0.1: the preferred port if it is free, otherwise one that the system picks. */
export function freePort(preferred?: number): Promise<number> {
  // get-port does not return the same port twice within some seconds, but a restarted service needs its previous port.
  clearLockedPorts();
  return getPort({ host: "127.0.0.1", ...(preferred !== undefined && { port: preferred }) });
}
