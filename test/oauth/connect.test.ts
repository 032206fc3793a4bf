import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, type OAuthClientProvider, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as FormerClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FormerTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useConsole, type Visitor } from "../console/visitor.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { codeOf, setUpTotp } from "../factories/secondFactors.ts";
import { postTask } from "../factories/tasks.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { clientsFile } from "./clientsFile.ts";
import { useDocumentSite } from "./documentServer.ts";
import { Browser, challengeOf, redeem, verifierOf } from "./flow.ts";

/** Where the programs wait for a person to come back; of a loopback address, the port may differ. */
let redirectUri = "";
const former = { client_id: "former", client_name: "A client of 2025", redirect_uris: ["http://127.0.0.1/callback"] };
const service = useService({
  resolve: async () => ["127.0.0.1"],
  settings: { webhookAllowInsecure: true, oauthClientsFile: clientsFile([former]) },
});
const site = useDocumentSite();
const program = createServer(({ url = "" }, response) => {
  const framed = /^\/frame\?(.*)/.exec(url)?.[1];
  if (framed === undefined) return response.end("You can close this page.");
  response.setHeader("content-type", "text/html");
  response.end(`<title>A prize</title><iframe src="${service.url}${decodeURIComponent(framed)}"></iframe>`);
});
beforeAll(async () => {
  await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve));
  redirectUri = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`; // a server that listens to TCP has one
});
afterAll(() => new Promise((resolve) => program.close(resolve)));

/** What a host keeps for the official client's own OAuth support. */
class Memory {
  tokens: { access_token: string; token_type: string; refresh_token?: string } | undefined;
  information: { client_id: string } | undefined;
  verifier = "";
  asked: URL | undefined;

  provider(extra: { clientMetadataUrl?: string }): OAuthClientProvider {
    return {
      redirectUrl: redirectUri,
      ...extra,
      clientMetadata: { client_name: "Official client", redirect_uris: [redirectUri] },
      clientInformation: () => this.information,
      saveClientInformation: (information) => {
        this.information = information;
      },
      tokens: () => this.tokens,
      saveTokens: (tokens) => {
        this.tokens = tokens;
      },
      invalidateCredentials: (scope) => {
        if (scope === "all" || scope === "tokens") this.tokens = undefined;
      },
      redirectToAuthorization: (url) => {
        this.asked = url;
      },
      saveCodeVerifier: (verifier) => {
        this.verifier = verifier;
      },
      codeVerifier: () => this.verifier,
    };
  }
}

/** What the browser is led to in the end: a page of the app. */
async function consent(visitor: Visitor, asked: URL | undefined, press: "Allow" | "Deny"): Promise<URL> {
  const back = new Promise<URL>((resolve) => {
    visitor.page.on("request", (request) => {
      if (request.url().startsWith(redirectUri)) resolve(new URL(request.url()));
    });
  });
  await visitor.page.goto(asked?.href ?? "");
  await visitor.button(press).click();
  await visitor.page.getByText("You can close this page.").waitFor();
  return back;
}

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);

  async function signIn(person: TestPerson, asked: URL | undefined): Promise<Visitor> {
    const visitor = await console.arrive("Owner");
    await visitor.page.goto(asked?.href ?? "");
    // The sign-in comes first, and leads back to the consent.
    await visitor.signIn(person);
    await visitor.button("Allow").waitFor();
    return visitor;
  }

  test("the official client connects from nothing but the address, calls tools, refreshes, is revoked and comes back", async () => {
    const person = await createPerson(service);
    const clientMetadataUrl = `${site.url}/official.json`;
    site.document = { client_id: clientMetadataUrl, client_name: "Official client", redirect_uris: [redirectUri] };
    const memory = new Memory();
    const connect = async () => {
      const client = new Client({ name: "tests", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
      const authProvider = memory.provider({ clientMetadataUrl });
      const transport = new StreamableHTTPClientTransport(new URL("/mcp", service.url), { authProvider });
      return {
        client,
        transport,
        failure: await client.connect(transport).then(
          () => null,
          (error: Error) => error,
        ),
      };
    };
    const first = await connect();
    expect(first.failure).not.toBeNull();
    expect(memory.asked?.searchParams.get("resource")).toBe(`${service.url}/mcp`);
    expect(memory.asked?.searchParams.get("scope")).toBe("task:write bid:write message:write agreement:write");

    const visitor = await signIn(person, memory.asked);
    await visitor.heading(`Connect ${new URL(site.url).host}?`).waitFor();
    await visitor.sees(new URL(redirectUri).host);
    await visitor.sees("Official client");
    await visitor.isAccessible();
    await visitor.fits();
    expect(await visitor.field("Spend limit").inputValue()).toBe("0.00");
    expect(await visitor.field("Ask me above").inputValue()).toBe("0.00");
    expect(await visitor.field("Ends after").inputValue()).toBe("90");
    const back = await consent(visitor, memory.asked, "Allow");
    // An answer that says it is another server's is sent to none.
    const mixedUp = new URLSearchParams(back.searchParams);
    mixedUp.set("iss", "https://evil.example");
    await expect(first.transport.finishAuth(mixedUp)).rejects.toThrow(/iss/i);
    await first.transport.finishAuth(back.searchParams);

    const { client, failure } = await connect();
    expect(failure).toBeNull();
    const wallet = await client.callTool({ name: "get_wallet", arguments: {} });
    expect(wallet.isError ?? false).toBe(false);

    const before = memory.tokens?.access_token;
    service.clock.advance(3_700);
    expect((await client.callTool({ name: "get_wallet", arguments: {} })).isError ?? false).toBe(false);
    expect(memory.tokens?.access_token).not.toBe(before);

    const task = await postTask(await createPerson(service, { cents: 20_000 }));
    const bid = { taskId: task.id, priceCents: 100, etaHours: 1 };
    expect((await client.callTool({ name: "place_bid", arguments: bid })).isError ?? false).toBe(false);

    await visitor.open("/keys");
    const apps = visitor.page.getByRole("list", { name: "Connected apps" });
    await apps.getByText("used").waitFor();
    for (const words of ["spends nothing by itself", "asks you about anything that moves money"])
      await apps.getByText(words).waitFor();
    await apps.getByText("What it did").click();
    await apps.getByText("Bid on a task").waitFor();
    expect(await apps.getByRole("link", { name: task.title }).getAttribute("href")).toBe(`/app/tasks/${task.id}`);
    await visitor.isAccessible();
    await visitor.fits();
    await apps.getByRole("button", { name: "Revoke" }).click();
    await visitor.confirm("End its access");
    await visitor.sees("No app is connected");
    memory.asked = undefined;
    await client.callTool({ name: "get_wallet", arguments: {} }).catch(() => null);
    expect(memory.asked).toBeDefined();
    await client.close();
  });

  /** Connects the official client of 2025. */
  async function connectFormer(memory: Memory, extra: { clientMetadataUrl?: string } = {}) {
    const client = new FormerClient({ name: "tests", version: "1.0.0" });
    const transport = new FormerTransport(new URL("/mcp", service.url), {
      // The two packages name the same things by types of their own.
      authProvider: memory.provider(extra) as never,
    });
    const failure = await client.connect(transport).then(
      () => null,
      (error: Error) => error,
    );
    return { client, transport, failure };
  }

  test("a client of 2025 that the operator has set connects, and a person may say no", async () => {
    const person = await createPerson(service);
    const memory = new Memory();
    memory.information = { client_id: former.client_id };
    await connectFormer(memory);
    const visitor = await signIn(person, memory.asked);
    const denied = await consent(visitor, memory.asked, "Deny");
    expect(denied.searchParams.get("error")).toBe("access_denied");
    const again = await connectFormer(memory);
    const back = await consent(visitor, memory.asked, "Allow");
    expect(back.searchParams.get("iss")).toBe(service.url);
    await again.transport.finishAuth(back.searchParams.get("code") ?? "");
    const { client, failure } = await connectFormer(memory);
    expect(failure).toBeNull();
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
    await client.close();
  });

  test("a client of 2025 connects by its metadata document, from nothing but the address, and refreshes", async () => {
    const person = await createPerson(service);
    const clientMetadataUrl = `${site.url}/former.json`;
    site.document = { client_id: clientMetadataUrl, client_name: "A client of 2025", redirect_uris: [redirectUri] };
    const memory = new Memory();
    const first = await connectFormer(memory, { clientMetadataUrl });
    expect(memory.asked?.searchParams.get("client_id")).toBe(clientMetadataUrl);
    expect(memory.asked?.searchParams.get("resource")).toBe(`${service.url}/mcp`);
    const visitor = await signIn(person, memory.asked);
    await visitor.heading(`Connect ${new URL(site.url).host}?`).waitFor();
    const back = await consent(visitor, memory.asked, "Allow");
    await first.transport.finishAuth(back.searchParams.get("code") ?? "");
    const { client, failure } = await connectFormer(memory, { clientMetadataUrl });
    expect(failure).toBeNull();
    const before = memory.tokens?.access_token;
    service.clock.advance(3_700);
    const wallet = await client.callTool({ name: "get_wallet", arguments: {} });
    expect(wallet.isError ?? false).toBe(false);
    expect(memory.tokens?.access_token).not.toBe(before);
    await client.close();
  });

  test("somebody who is not signed in arrives, signs in, proves the second factor, and comes back to the consent", async () => {
    const person = await createPerson(service);
    const { secret } = await setUpTotp(service, person);
    const verifier = verifierOf();
    const asked = { clientId: former.client_id, redirectUri, resource: service.url, scope: "bid:write" };
    const query = new URLSearchParams({
      ...{ response_type: "code", client_id: asked.clientId, redirect_uri: redirectUri, resource: asked.resource },
      ...{ scope: asked.scope, state: "mine", code_challenge: challengeOf(verifier), code_challenge_method: "S256" },
    });
    const visitor = await console.arrive("Careful");
    await visitor.page.goto(`${service.url}/oauth/authorize?${query}`);
    await visitor.signIn(person);
    await visitor.sees("This account also asks for a code");
    expect(await visitor.button("Allow").count()).toBe(0);
    await visitor.page.getByRole("textbox", { name: "Code" }).fill(codeOf(service, secret));
    const back = visitor.page.waitForRequest((request) => request.url().startsWith(redirectUri));
    await visitor.button("Sign in").click();
    await visitor.sees("bid, and send samples and deliveries");
    await visitor.sees("a program on this device");
    await visitor.button("Allow").click();
    const { searchParams } = new URL((await back).url());
    expect([searchParams.get("state"), searchParams.get("iss")]).toEqual(["mine", service.url]);
    const given = await redeem(service.url, asked, { code: searchParams.get("code") ?? "", verifier });
    expect([given.status, given.body.scope]).toEqual([200, "bid:write"]);
  });

  test("no page that consents or decides is drawn in a frame of another origin, which has the cookie", async () => {
    const person = await createPerson(service);
    const visitor = await console.arrive("Tricked");
    await visitor.enterAs(person);
    const begun = await new Browser(service.url, person.session).authorize({
      ...{ clientId: former.client_id, redirectUri, resource: service.url, challenge: challengeOf(verifierOf()) },
    });
    const consentPage = new URL(begun.headers.get("location") ?? "", service.url).pathname;
    for (const path of [consentPage, "/app/device", "/app/approvals", "/app/sign-in"]) {
      await visitor.page.goto(new URL(`/frame?${encodeURIComponent(path)}`, redirectUri).href);
      await expect.poll(() => visitor.page.frames().at(-1)?.url(), { message: path }).toMatch(/^chrome-error:/);
    }
    const refused = visitor.problems.splice(0);
    expect(refused.filter((text) => !text.includes("frame-ancestors"))).toEqual([]);
  });
});
