import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";

/**
 * The customers of the bench, all in one process: every loopback address is an origin of its own. Paths: `/ok/<delay in
 * ms>`, `/fails`; a second port accepts connections and never answers. Arrivals on `/ok` are recorded as
 * event id and time.
 */
let arrivals: [eventId: string, atMs: number][] = [];

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const [, kind, delay = "0"] = (request.url ?? "").split("/");
    if (kind === "fails") return response.writeHead(500).end();
    // The body starts with {"id":"…"
    arrivals.push([Buffer.concat(chunks).toString("latin1", 7, 43), performance.timeOrigin + performance.now()]);
    const answer = () => response.writeHead(204).end();
    if (delay === "0") answer();
    else setTimeout(answer, Number(delay));
  });
});
const silent = createTcpServer((socket) => {
  socket.on("error", () => {});
  socket.resume();
});

process.on("message", (message: "count" | "take") => {
  if (message === "count") process.send?.(arrivals.length);
  else {
    process.send?.(arrivals);
    arrivals = [];
  }
});
server.listen(Number(process.env.PORT), "0.0.0.0", 4_096, () => {
  silent.listen(Number(process.env.SILENT_PORT), "0.0.0.0", () => console.log("ready"));
});
