const reasons: Record<string, string> = {
  ECONNREFUSED: "The connection was refused.",
  ECONNRESET: "The connection was reset.",
  EPIPE: "The connection was closed.",
  ENOTFOUND: "The host's name does not resolve.",
  EHOSTUNREACH: "The host cannot be reached.",
  ENETUNREACH: "The host cannot be reached.",
  ETIMEDOUT: "The connection timed out.",
  UND_ERR_SOCKET: "The connection was closed before the response was complete.",
  UND_ERR_CONNECT_TIMEOUT: "The connection timed out.",
};

/** Explains a failed request to the endpoint's owner. For TLS, the error code itself is the best explanation. */
export function explain(error: unknown): string {
  if (error instanceof AggregateError) return explain(error.errors[0]);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = reasons[code];
  if (reason !== undefined) return reason;
  if (code.startsWith("HPE_") || (error instanceof Error && error.name === "HTTPParserError"))
    return "The response is not valid HTTP.";
  return /^(CERT_|ERR_TLS|ERR_SSL|DEPTH_|SELF_SIGNED|UNABLE_TO)/.test(code)
    ? `TLS failed: ${code}.`
    : "The connection failed.";
}
