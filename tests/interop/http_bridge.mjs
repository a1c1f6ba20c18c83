// Any stdio ACP agent behind the official TypeScript SDK's HTTP server, on loopback; one process for each connection.
//   node http_bridge.mjs SDK_DIST -- COMMAND ARGS…        says "ready URL"
// TOKEN=…: the bearer token it wants. COOKIE=…: set by initialize, wanted from then on (a load balancer's affinity).
// PUT /cut destroys the sockets of all event streams, as a proxy may; DELETE /all forgets all connections.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const part = (name) => import(pathToFileURL(join(process.argv[2], name)).href);
const { ndJsonStream } = await part("acp.js");
const { AcpServer } = await part("server.js");
const { createNodeHttpHandler } = await part("node-adapter.js");

const [command, ...args] = process.argv.slice(process.argv.indexOf("--") + 1);
const { TOKEN, COOKIE } = process.env;
const children = new Set();
const streams = new Set();

const agent = {
  connect(stream) {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    children.add(child);
    const closed = new Promise((done) => child.on("exit", () => { children.delete(child); done(); }));
    const { readable, writable } = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
    stream.readable.pipeTo(writable).catch(() => {}).finally(() => child.kill());
    readable.pipeTo(stream.writable).catch(() => {});
    return { closed };
  },
};
let acp = new AcpServer({ agent });
let handle = createNodeHttpHandler(acp);

const server = createServer(async (request, response) => {
  const refuse = (status, text) => response.writeHead(status, { "Content-Type": "text/plain" }).end(text);
  if (request.method === "PUT" && request.url === "/cut") {
    for (const open of streams) open.socket?.destroy();
    return refuse(200, "cut");
  }
  if (request.method === "DELETE" && request.url === "/all") {
    const old = acp;
    acp = new AcpServer({ agent });
    handle = createNodeHttpHandler(acp);
    await old.close();
    return refuse(200, "forgotten");
  }
  const { authorization, cookie = "" } = request.headers;
  if (request.url.split("?")[0] !== "/acp") return refuse(404, "Not Found");
  if (TOKEN && authorization !== `Bearer ${TOKEN}`) return refuse(401, "Unauthorized");
  const known = request.headers["acp-connection-id"];
  if (COOKIE && known && !cookie.includes(`affinity=${COOKIE}`)) return refuse(421, "no affinity cookie");
  if (COOKIE && !known) response.setHeader("Set-Cookie", `affinity=${COOKIE}; Path=/; HttpOnly`);
  if (request.method === "GET" && known) {
    streams.add(response);
    response.on("close", () => streams.delete(response));
  }
  return handle(request, response);
});
server.listen(0, "127.0.0.1", () => console.log(`ready http://127.0.0.1:${server.address().port}/acp`));

process.on("SIGTERM", () => {
  for (const child of children) child.kill();
  process.exit(0);
});
