import assert from "node:assert/strict";

/** Requests what an operator and a first client would; throws at the first answer that is not as documented. */
export async function checkAnswers(url: string): Promise<void> {
  await request(`${url}/readyz`);
  const document = await request(`${url}/openapi.json`);
  assert.match(await document.text(), /^\{"openapi":"3\./);
  await checkDocumentation(`${url}/docs`);

  const credentials = { email: "ada@rebid.test", password: "a good password", displayName: "Ada" };
  const signup = await post(`${url}/auth/signup`, credentials, 201);
  const [cookie = ""] = (signup.headers.get("set-cookie") ?? "").split(";");
  const wallet = await request(`${url}/wallet`, { headers: { cookie } });
  assert.deepEqual(await wallet.json(), { availableCents: 0, heldCents: 0 });
  // Asks the payment processor for a checkout page.
  await post(`${url}/wallet/topup`, { amountCents: 5_000 }, 200, cookie);
}

/** The release carries the built site: its page loads its scripts and styles from the service itself. */
async function checkDocumentation(pageUrl: string): Promise<void> {
  const page = await (await request(pageUrl)).text();
  const scripts = Array.from(page.matchAll(/<script[^>]* src="([^"]+)"/g), ([, path = ""]) => path);
  const styles = Array.from(page.matchAll(/<link[^>]* href="([^"]+\.css)"/g), ([, path = ""]) => path);
  assert.ok(scripts.length > 0, "/docs names no script");
  let bytes = 0;
  for (const path of [...scripts, ...styles]) {
    bytes += (await (await request(new URL(path, pageUrl).href)).arrayBuffer()).byteLength;
  }
  assert.ok(bytes > 10_000, `the files of /docs have only ${bytes} bytes`);
  await request(new URL("/llms.txt", pageUrl).href);
}

function post(url: string, body: object, status: number, cookie = ""): Promise<Response> {
  const headers = { "content-type": "application/json", cookie };
  return request(url, { method: "POST", headers, body: JSON.stringify(body) }, status);
}

async function request(url: string, init: RequestInit = {}, status = 200): Promise<Response> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) });
  if (response.status !== status) {
    throw new Error(`${init.method ?? "GET"} ${url}: ${response.status} ${await response.text()}`);
  }
  return response;
}
