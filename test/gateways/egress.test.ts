import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { guardedEgress } from "../../server/gateways/egress.ts";
import { EgressFailed, EgressRefused } from "../../server/gateways/egressErrors.ts";
import { isPublicAddress } from "../../server/gateways/publicAddress.ts";

/** A server on every local address that counts connections, to prove that none was made. */
const canary = { port: 0, connections: 0, stop: async () => {} };

beforeAll(async () => {
  const server = createTcpServer((socket) => {
    canary.connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "::", resolve));
  canary.port = (server.address() as AddressInfo).port;
  canary.stop = () => new Promise((resolve) => server.close(() => resolve()));
});
afterAll(() => canary.stop());
beforeEach(() => {
  canary.connections = 0;
});

const post = { headers: {}, body: Buffer.from("{}"), timeoutMs: 10_000 };

/** Hosts that must never be reached, in every spelling; `PORT` is the canary's. */
const badUrls = [
  // loopback
  "https://127.0.0.1:PORT/",
  "https://127.1:PORT/",
  "https://127.0.1:PORT/",
  "https://127.255.255.254:PORT/",
  "https://2130706433:PORT/",
  "https://0x7f000001:PORT/",
  "https://0x7f.0.0.1:PORT/",
  "https://0x7F.1:PORT/",
  "https://017700000001:PORT/",
  "https://0177.0.0.1:PORT/",
  "https://0177.0.0.01:PORT/",
  "https://127.0.0.1.:PORT/",
  "https://１２７.０.０.１:PORT/",
  "https://127。0。0。1:PORT/",
  "https://①②⑦.⓪.⓪.①:PORT/",
  "https://%31%32%37.0.0.1:PORT/",
  "https://127%2E0%2E0%2E1:PORT/",
  "https://127｡0．0。1:PORT/",
  "https://127\u00ad.0.0.1:PORT/",
  "https://127.0\u200b.0.1:PORT/",
  "https://127.0.\t0.\n1:PORT/",
  "https://127.0.0.1..:PORT/",
  "https://[::1]:PORT/",
  "https://[0:0:0:0:0:0:0:1]:PORT/",
  "https://[0000::0001]:PORT/",
  "https://[::ffff:127.0.0.1]:PORT/",
  "https://[::ffff:7f00:1]:PORT/",
  "https://[::ffff:0:127.0.0.1]:PORT/",
  "https://[::127.0.0.1]:PORT/",
  "https://[64:ff9b::127.0.0.1]:PORT/",
  "https://[64:ff9b::7f00:1]:PORT/",
  "https://[64:ff9b:1::127.0.0.1]:PORT/",
  "https://[2002:7f00:1::]:PORT/",
  "https://[2002:7f00:1::1]:PORT/",
  "https://[2002:c0a8:101::]:PORT/",
  "https://[2001:0:7f00:1::]:PORT/",
  "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]:PORT/",
  "https://[::7f00:1]:PORT/",
  "https://[::1%25lo]:PORT/",
  "https://[::1%lo]:PORT/",
  // this host and this network
  "https://0.0.0.0:PORT/",
  "https://0:PORT/",
  "https://0x0:PORT/",
  "https://0.0.0.1:PORT/",
  "https://[::]:PORT/",
  "https://[::ffff:0.0.0.0]:PORT/",
  // private
  "https://10.0.0.1:PORT/",
  "https://10.1:PORT/",
  "https://167772161:PORT/",
  "https://012.0.0.1:PORT/",
  "https://172.16.0.1:PORT/",
  "https://172.31.255.255:PORT/",
  "https://192.168.1.1:PORT/",
  "https://0xc0a80101:PORT/",
  "https://[::ffff:10.0.0.1]:PORT/",
  "https://[64:ff9b::a00:1]:PORT/",
  "https://[fc00::1]:PORT/",
  "https://[fd12:3456:789a::1]:PORT/",
  // link-local and metadata services
  "https://169.254.169.254:PORT/latest/meta-data/",
  "https://2852039166:PORT/",
  "https://0xa9fea9fe:PORT/",
  "https://0251.0376.0251.0376:PORT/",
  "https://169.254.43518:PORT/",
  "https://[::ffff:169.254.169.254]:PORT/",
  "https://[64:ff9b::a9fe:a9fe]:PORT/",
  "https://[fd00:ec2::254]:PORT/",
  "https://[fe80::1]:PORT/",
  "https://[fe80::1%25eth0]:PORT/",
  "https://[fec0::1]:PORT/",
  "https://168.63.129.16:PORT/",
  "https://100.100.100.200:PORT/",
  "https://metadata.google.internal:PORT/",
  // carrier, benchmark, documentation, relay, multicast, reserved
  "https://100.64.0.1:PORT/",
  "https://192.0.0.192:PORT/",
  "https://192.31.196.1:PORT/",
  "https://192.175.48.1:PORT/",
  "https://192.0.2.1:PORT/",
  "https://192.88.99.1:PORT/",
  "https://198.18.0.1:PORT/",
  "https://198.51.100.1:PORT/",
  "https://203.0.113.1:PORT/",
  "https://224.0.0.1:PORT/",
  "https://240.0.0.1:PORT/",
  "https://255.255.255.255:PORT/",
  "https://[100::1]:PORT/",
  "https://[2001:db8::1]:PORT/",
  "https://[2001:2::1]:PORT/",
  "https://[2001:10::1]:PORT/",
  "https://[2001:20::1]:PORT/",
  "https://[2620:4f:8000::1]:PORT/",
  "https://[3fff::1]:PORT/",
  "https://[5f00::1]:PORT/",
  "https://[ff02::1]:PORT/",
  "https://[4000::1]:PORT/",
  // names of this machine and this network
  "https://localhost:PORT/",
  "https://localhost.:PORT/",
  "https://localhost..:PORT/",
  "https://.localhost:PORT/",
  "https://loc\u00adal\thost:PORT/",
  "https://%6c%6fcalhost:PORT/",
  "https://LOCALHOST:PORT/",
  "https://ｌｏｃａｌｈｏｓｔ:PORT/",
  "https://api.localhost:PORT/",
  "https://localhost.localdomain:PORT/",
  "https://printer.local:PORT/",
  "https://vault.service.internal:PORT/",
  "https://nas.home.arpa:PORT/",
  "https://intranet:PORT/",
  "https://intranet..:PORT/",
  "https://.intranet:PORT/",
  "https://metadata.google.internal..:PORT/",
  // not https, or with credentials
  "http://example.com:PORT/",
  "http://127.0.0.1:PORT/",
  "ftp://example.com:PORT/",
  "file:///etc/passwd",
  "gopher://127.0.0.1:PORT/_",
  "javascript:alert(1)",
  "https://user@example.com:PORT/",
  "https://user:password@127.0.0.1:PORT/",
  "https://example.com@127.0.0.1:PORT/",
  "https://@127.0.0.1:PORT/",
  "https:\\\\127.0.0.1:PORT/",
  "https:127.0.0.1:PORT/",
  "https:///127.0.0.1:PORT/",
  "https://127.0.0.1\\@example.com:PORT/",
  "https://127.0.0.1%00.example.com:PORT/",
  "https://127.0.0.1:0/",
  " ht\ttps://127.0.0.1:PORT/",
  // malformed, or parsed as something other than what is written
  " https://example.com:PORT/ ",
  "https://example.com:PORT/\n\tx",
  "https:example.com:PORT/",
  "https:\\\\example.com:PORT\\x",
  "//127.0.0.1:PORT/",
  "not a url",
  "https://",
  "https://[::1",
];

describe("a bad address", () => {
  // The resolver knows every name, so that none is refused merely because it does not resolve.
  const egress = guardedEgress({ allowInsecure: false, resolve: async () => ["127.0.0.1", "::1"] });
  afterAll(() => egress.close());

  test.each(badUrls)("%s is refused at registration and at delivery, and no connection is made", async (template) => {
    const url = template.replace("PORT", String(canary.port));
    await expect(egress.check(url)).rejects.toThrow(EgressRefused);
    await expect(egress.post(url, post)).rejects.toThrow(EgressRefused);
    expect(canary.connections).toBe(0);
  });

  test("is refused without asking a name server", async () => {
    const resolved: string[] = [];
    const trusting = guardedEgress({
      allowInsecure: false,
      resolve: async (hostname) => {
        resolved.push(hostname);
        return ["93.184.215.14"];
      },
    });
    for (const url of badUrls) await trusting.check(url.replace("PORT", "443")).catch(() => {});
    await trusting.close();
    expect(resolved).toEqual([]);
  });

  test("the table has at least 60 of them, and the canary counts connections", async () => {
    expect(new Set(badUrls).size).toBeGreaterThanOrEqual(60);
    const open = guardedEgress({ allowInsecure: true });
    await open.post(`http://127.0.0.1:${canary.port}/`, post).catch(() => {});
    await open.close();
    expect(canary.connections).toBe(1);
  });
});

describe("a host name", () => {
  const answers: Record<string, string[][]> = {};
  const egress = guardedEgress({
    allowInsecure: false,
    resolve: async (hostname) => {
      const [answer = [], ...later] = answers[hostname] ?? [];
      if (later.length > 0) answers[hostname] = later;
      if (answer.length === 0) throw new EgressFailed("no such name");
      return answer;
    },
  });
  afterAll(() => egress.close());
  const urlOf = (name: string) => `https://${name}:${canary.port}/`;

  test("that resolves to a private address is refused at registration", async () => {
    answers["private.example.com"] = [["10.0.0.1"]];
    await expect(egress.check(urlOf("private.example.com"))).rejects.toThrow(EgressRefused);
  });

  test.each([
    ["IPv4", ["127.0.0.1"]],
    ["IPv6", ["::1"]],
    ["mapped", ["::ffff:127.0.0.1"]],
    ["good first", ["93.184.215.14", "127.0.0.1"]],
    ["bad first", ["127.0.0.1", "93.184.215.14"]],
    ["mixed families", ["2606:2800:21f:cb07:6820:80da:af6b:8b2c", "127.0.0.1"]],
    ["not an address", ["localhost"]],
  ])(
    "that resolves to a private address or to mixed ones (%s) is refused, and no connection is made",
    async (_name, addresses) => {
      answers["mixed.example.com"] = [addresses];
      await expect(egress.post(urlOf("mixed.example.com"), post)).rejects.toThrow(EgressRefused);
      expect(canary.connections).toBe(0);
    },
  );

  test("that resolves to a public address at registration and to a private one later (rebinding) is refused at the connection", async () => {
    answers["rebind.example.com"] = [["93.184.215.14"], ["127.0.0.1"]];
    await egress.check(urlOf("rebind.example.com"));
    await expect(egress.post(urlOf("rebind.example.com"), post)).rejects.toThrow(EgressRefused);
    expect(canary.connections).toBe(0);
  });

  test("that does not resolve may be registered, and fails at delivery", async () => {
    await egress.check(urlOf("unknown.example.com"));
    await expect(egress.post(urlOf("unknown.example.com"), post)).rejects.toThrow(EgressFailed);
  });

  test("whose lookup hangs neither blocks a registration nor outlasts the timeout", async () => {
    const hanging = guardedEgress({ allowInsecure: false, resolve: () => new Promise(() => {}) });
    await hanging.check("https://slow.example.com/");
    await expect(hanging.post("https://slow.example.com/", { ...post, timeoutMs: 100 })).rejects.toThrow(
      "No complete response within 0.1 s.",
    );
    await hanging.close();
  });
});

test.each([
  "https://example.com/hook",
  "https://93.184.215.14/",
  "https://[2606:2800:21f::1]/",
  "https://bücher.example/",
])("a public URL is allowed: %s", async (url) => {
  const egress = guardedEgress({ allowInsecure: false, resolve: async () => ["93.184.215.14"] });
  await egress.check(url);
  await egress.close();
});

test("text that is not an IP address is not a public address", () => {
  for (const text of ["", "localhost", "1.2.3", "::g", "fe80::1%eth0"]) expect(isPublicAddress(text)).toBe(false);
});

describe("a response", () => {
  const egress = guardedEgress({ allowInsecure: true });
  const seen: string[] = [];
  let server: Server;
  let url = "";
  beforeAll(async () => {
    server = createServer((request, response) => {
      seen.push(request.url ?? "");
      request.resume();
      const [, status = "200", body] = (request.url ?? "").split("/");
      response.writeHead(Number(status), { location: `${url}/200/redirected` });
      if (body === "drip") {
        const timer = setInterval(() => response.write("."), 20);
        response.on("close", () => clearInterval(timer));
      } else if (body === "flood") {
        const chunk = Buffer.alloc(64 * 1024);
        const more = () => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on("drain", more);
        more();
      } else if (body !== "never") response.end(body);
      else response.flushHeaders();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await egress.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test.each([200, 204, 302, 307, 400, 410, 500, 503])(
    "with status %i is returned as it is, and no redirect is followed",
    async (status) => {
      seen.length = 0;
      expect(await egress.post(`${url}/${status}/x`, post)).toEqual({ statusCode: status });
      expect(seen).toEqual([`/${status}/x`]);
    },
  );

  test("that drips its body, or never ends it, is cut off at the timeout", async () => {
    for (const body of ["drip", "never"]) {
      await expect(egress.post(`${url}/200/${body}`, { ...post, timeoutMs: 200 })).rejects.toThrow(EgressFailed);
    }
  });

  test("with an endless body is read up to the cap, and its status counts", async () => {
    expect(await egress.post(`${url}/200/flood`, post)).toEqual({ statusCode: 200 });
  });

  test("that never comes because nothing listens is an error that says so", async () => {
    await expect(egress.post("http://127.0.0.1:1/", post)).rejects.toThrow("The connection was refused.");
  });
});
