/** What the form needs to know; docs/site/reference/pages.ts writes it into the page. */
interface Operation {
  method: string;
  path: string;
  access: "public" | "any" | "session";
  isStream: boolean;
  parameters: Parameter[];
  body?: unknown;
}

interface Parameter {
  name: string;
  place: "path" | "query" | "header";
  required: boolean;
  options?: string[];
  hint: string;
}

type Input = HTMLInputElement | HTMLSelectElement;

const KEY_NAME = "rebid-api-key";

const create = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Readonly<Record<string, unknown>> = {},
  ...children: (Node | string)[]
) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

/** Who is signed in to this Rebid in this browser. */
async function signedInName(): Promise<string | null> {
  const response = await fetch("/auth/me").catch(() => null);
  if (!response?.ok) return null;
  const { user } = await response.json();
  return user?.displayName ?? null;
}

/**
 * A form that sends an operation to the service that this page comes from. The browser adds the session cookie. An
 * `Authorization` header is sent only when a key was pasted; the key is kept for this tab only.
 */
class TryOperation extends HTMLElement {
  connectedCallback(): void {
    const operation: Operation = JSON.parse(this.dataset.operation ?? "{}");
    const form = create("form", { className: "try" });
    const inputs = operation.parameters.map((parameter) => ({ parameter, input: inputOf(parameter) }));
    const headers = inputs.filter(({ parameter }) => parameter.place === "header");
    const body =
      operation.body === undefined
        ? null
        : create("textarea", { value: JSON.stringify(operation.body, null, 2), spellcheck: false });
    const key = create("input", {
      type: "password",
      placeholder: "rb_live_…",
      autocomplete: "off",
      value: sessionStorage.getItem(KEY_NAME) ?? "",
    });
    const who = create("p", { className: "who" });
    const send = create("button", { type: "submit", textContent: "Send" });
    const output = create("div", { className: "output" });
    output.setAttribute("role", "status");
    form.append(
      create("h2", { textContent: "Try it" }),
      who,
      ...inputs.filter(({ parameter }) => parameter.place !== "header").map(labelledParameter),
      ...(body === null ? [] : [labelled("Body", "JSON", body)]),
      ...(operation.access === "any" ? [labelled("API key", "instead of your session", key)] : []),
      ...(headers.length === 0
        ? []
        : [create("details", {}, create("summary", { textContent: "Headers" }), ...headers.map(labelledParameter))]),
      create("p", { className: "row" }, send, create("small", { textContent: cautionOf(operation) })),
      output,
    );
    this.append(form);
    void showWho(who, operation);

    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEY_NAME, key.value.trim());
      send.disabled = true;
      const values = new Map(inputs.map(({ parameter, input }) => [parameter, input.value.trim()]));
      await run(
        operation,
        values,
        body?.value ?? null,
        operation.access === "any" ? key.value.trim() : "",
        output,
      ).catch((error: unknown) => {
        output.replaceChildren(
          create("p", { className: "failed", textContent: `The request could not be sent: ${String(error)}` }),
        );
      });
      send.disabled = false;
    });
  }
}

async function showWho(who: HTMLElement, { access }: Operation): Promise<void> {
  if (access === "public") {
    who.textContent = "Needs no authentication.";
    return;
  }
  const name = await signedInName();
  if (name !== null) who.replaceChildren("Sent as ", create("b", { textContent: name }), ", who is signed in here.");
  else if (access === "session") who.textContent = "Sign in to this Rebid in this browser first.";
  else who.textContent = "You are not signed in here: paste an API key.";
}

function cautionOf({ method, parameters }: Operation): string {
  if (method === "GET") return "";
  const canBeTried = parameters.some(({ name }) => name === "Dry-Run");
  return canBeTried ? "This is sent for real. With Dry-Run, under Headers, nothing changes." : "This is sent for real.";
}

function inputOf({ options, hint, required }: Parameter): Input {
  if (options !== undefined) {
    const blank = required ? [] : [create("option", { value: "", textContent: "" })];
    return create(
      "select",
      { required },
      ...blank,
      ...options.map((value) => create("option", { value, textContent: value })),
    );
  }
  return create("input", { type: "text", placeholder: hint, required, autocomplete: "off", spellcheck: false });
}

function labelledParameter({ parameter, input }: { parameter: Parameter; input: Input }): HTMLLabelElement {
  return labelled(parameter.name, parameter.required ? "" : "optional", input);
}

function labelled(name: string, note: string, input: HTMLElement): HTMLLabelElement {
  return create("label", {}, create("span", {}, create("code", { textContent: name }), ` ${note}`), input);
}

async function run(
  { method, path, isStream }: Operation,
  values: Map<Parameter, string>,
  body: string | null,
  key: string,
  output: HTMLElement,
): Promise<void> {
  const query = new URLSearchParams();
  const headers = new Headers(body === null ? {} : { "Content-Type": "application/json" });
  let address = path;
  for (const [{ name, place }, value] of values) {
    if (place === "path") address = address.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== "" && place === "query") query.set(name, value);
    else if (value !== "" && place === "header") headers.set(name, value);
  }
  if (key !== "") headers.set("Authorization", `Bearer ${key}`);
  const search = query.size === 0 ? "" : `?${query}`;
  const startedAt = performance.now();
  const response = await fetch(address + search, { method, headers, ...(body === null ? {} : { body }) });
  const milliseconds = Math.round(performance.now() - startedAt);
  const status = create(
    "p",
    { className: response.ok ? "done" : "failed" },
    create("b", { textContent: String(response.status) }),
    ` in ${milliseconds} ms`,
  );
  const text = create("pre", { tabIndex: 0 });
  output.replaceChildren(status, text);
  if (isStream && response.ok) return follow(response, text, output);
  text.textContent = pretty(await response.text());
}

const pretty = (text: string) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text === "" ? "(no body)" : text;
  }
};

/** Shows a stream as it comes, until it is stopped. */
async function follow(response: Response, text: HTMLElement, output: HTMLElement): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const stop = create("button", { type: "button", textContent: "Stop" });
  stop.addEventListener("click", () => void reader?.cancel());
  output.append(stop);
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) text.append(part.value);
  stop.remove();
}

customElements.define("rebid-try", TryOperation);
