import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../server/local/listen.ts";

function server(): Server {
  const server = createServer();
  onTestFinished(() => void server.close());
  return server;
}

test("a server listens on the preferred port if it is free, and on another one otherwise", async () => {
  const first = server();
  const port = await listen(first);
  first.close();
  await once(first, "close");
  expect(await listen(server(), port)).toBe(port);

  const other = server();
  const otherPort = await listen(other, port);
  expect(otherPort).not.toBe(port);
  expect(other.address()).toMatchObject({ address: "127.0.0.1", port: otherPort });
});
