import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll } from "vitest";

/** A site of an app, over TLS with a certificate that this process trusts. */
export class DocumentSite {
  url = "";
  requests = 0;
  /** What it answers; by default the document. */
  answer: ((response: ServerResponse) => void) | null = null;
  document: object = {};
  server: Server | null = null;
}

export function useDocumentSite(): DocumentSite {
  const site = new DocumentSite();
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "rebid-tls-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    execFileSync(
      "openssl",
      [
        ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
        ...["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
      ],
      { stdio: "ignore" },
    );
    const pem = readFileSync(cert, "utf8");
    setDefaultCACertificates([...getCACertificates("default"), pem]);
    const server = createServer({ key: readFileSync(key), cert: pem }, (_request, response) => {
      site.requests += 1;
      if (site.answer !== null) return site.answer(response);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(site.document));
    });
    rmSync(folder, { recursive: true });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    site.url = `https://localhost:${(server.address() as AddressInfo).port}`;
    site.server = server;
  });
  afterAll(() => {
    site.server?.closeAllConnections();
    site.server?.close();
  });
  return site;
}
