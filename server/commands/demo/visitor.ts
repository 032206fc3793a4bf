import { CommandFailure } from "../runCommand.ts";

export interface Wallet {
  availableCents: number;
  heldCents: number;
}

/** A person with a browser: keeps the session cookie, and the wallet as it was last shown. */
export class Visitor {
  readonly name: string;
  readonly role: string;
  readonly #url: string;
  #cookie = "";
  /** Where the event log ended when the visitor signed up. */
  logStart = "latest";
  lastShown: Wallet = { availableCents: 0, heldCents: 0 };

  constructor(url: string, name: string, role: string) {
    this.#url = url;
    this.name = name;
    this.role = role;
  }

  /** @throws CommandFailure with the response when its status is not 2xx */
  async call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { cookie: this.#cookie, ...(body !== undefined && { "content-type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const [cookie] = (response.headers.get("set-cookie") ?? "").split(";");
    if (cookie) this.#cookie = cookie;
    const text = await response.text();
    if (!response.ok) throw new CommandFailure(`${this.name}: ${method} ${path} returned ${response.status}\n${text}`);
    return JSON.parse(text) as Body; // the documented response of the service
  }

  async signUp(): Promise<void> {
    const email = `${this.name.toLowerCase()}.${Date.now()}@example.com`;
    await this.call("POST", "/auth/signup", { email, password: "a demo password", displayName: this.name });
    const { nextCursor } = await this.call<{ nextCursor: string }>("GET", "/events?after=latest");
    this.logStart = nextCursor;
  }

  wallet(): Promise<Wallet> {
    return this.call<Wallet>("GET", "/wallet");
  }
}
