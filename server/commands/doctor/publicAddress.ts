import { connect } from "node:tls";
import type { Config } from "../../config.ts";
import { type Found, messageOf, ok, problem, warning } from "./finding.ts";

const TIMEOUT_MS = 10_000;
const CERTIFICATE_WARNING_DAYS = 14;
const DAY_MS = 86_400_000;

/** Asks for the service at the address that clients use, through every proxy in front of it, as seen from this machine. */
export async function examineAddress(publicUrl: string, { trustProxy }: Pick<Config, "trustProxy">): Promise<Found[]> {
  const response = await fetch(`${publicUrl}/readyz`, {
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(messageOf);
  if (typeof response === "string") {
    const advice = "Start the service, and check the name, the proxy and the certificate, then try again.";
    const isRefused = /ECONNREFUSED/.test(response);
    return [(isRefused ? warning : problem)(`${publicUrl} does not respond: ${response}`, advice)];
  }
  const body = await response.text();
  return [
    answerFinding(publicUrl, response.status, body),
    ...proxyFindings(response.headers, trustProxy),
    ...(publicUrl.startsWith("https:") ? [await certificateFinding(publicUrl)] : []),
  ];
}

function answerFinding(publicUrl: string, status: number, body: string): Found {
  const reason = /^\{"status":"(\w+)"\}$/.exec(body)?.[1];
  if (reason === "ok") return ok(`${publicUrl} is served by a Rebid that is ready`);
  if (reason !== undefined) {
    const advice = "Wait until it is, or see what /readyz means in docs/guides/production-reference.md.";
    return warning(`the service at ${publicUrl} is not ready: ${reason}`, advice);
  }
  const advice = "Let the proxy pass on every path to the service, and start the service.";
  return problem(`${publicUrl}/readyz is answered with ${status}, and not by Rebid`, advice);
}

/** The service names no server: a header that does is a proxy's. */
function proxyFindings(headers: Headers, trustProxy: Config["trustProxy"]): Found[] {
  const proxy = headers.get("server") ?? headers.get("via");
  if (proxy === null || trustProxy !== false) return [];
  const advice = "Set TRUST_PROXY to the number of proxies, or to their addresses.";
  return [problem(`a proxy (${proxy}) is in front, but TRUST_PROXY is not set: all clients share one limit`, advice)];
}

async function certificateFinding(publicUrl: string): Promise<Found> {
  const { hostname, port } = new URL(publicUrl);
  const validUntil = await new Promise<Date>((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port || 443), servername: hostname }, () => {
      resolve(new Date(socket.getPeerCertificate().valid_to));
      socket.end();
    });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error("the TLS handshake timed out")));
    socket.once("error", reject);
  });
  const days = Math.floor((validUntil.getTime() - Date.now()) / DAY_MS);
  const text = `its certificate is valid for ${days} more days`;
  return days < CERTIFICATE_WARNING_DAYS ? warning(text, "Renew the certificate.") : ok(text);
}
