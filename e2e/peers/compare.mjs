// Holds hubs beside each other: each has the same three servers behind it and the same client before it, which does the same
// things. What is printed is what was seen on the wire: JSON lines, then the table of docs/comparison.md.
//   npm ci --ignore-scripts && node compare.mjs PATH_OF_MCPHUB [NAME...]
// Node 24 or newer. Each hub runs in a home of its own, and is ended afterwards.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { fileURLToPath, pathToFileURL } from "node:url";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, "node_modules");
const [mcphub, ...only] = process.argv.slice(2);
if (!mcphub || !existsSync(mcphub)) throw new Error("usage: node compare.mjs PATH_OF_MCPHUB [NAME...]");
const patience = 20_000;
const calls = 1000;
const rounds = Number(process.env.ROUNDS ?? 3);
const longNumber = "12345678901234567890";

const sleep = (ms) => new Promise((then) => setTimeout(then, ms));
const bounded = (promise, ms, what) =>
  Promise.race([promise, new Promise((_, fail) => setTimeout(() => fail(new Error(`${what}: nothing within ${ms} ms`)), ms).unref())]);
async function until(check, ms = patience) {
  for (const end = Date.now() + ms; ; await sleep(20)) {
    const value = await check();
    if (value || Date.now() > end) return value;
  }
}
const freePort = () =>
  new Promise((then) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => then(port));
    });
  });

// A client that speaks JSON-RPC over a transport, has one root, and answers what it is asked.
class Client {
  constructor(transport, root) {
    Object.assign(this, { transport, root, next: 1, waiting: new Map(), heard: [], asked: [], more: [] });
    transport.onmessage = (message) => this.take(message);
    transport.onerror = () => {};
  }
  take(m) {
    if (m.method && m.id !== undefined) {
      this.asked.push(m.method);
      const result = {
        "roots/list": { roots: [this.root, ...this.more].map((folder) => ({ uri: pathToFileURL(folder).href })) },
        "sampling/createMessage": { role: "assistant", content: { type: "text", text: "a sample from the client" }, model: "none" },
        "elicitation/create": { action: "accept", content: { name: "Ada", check: true } },
        ping: {},
      }[m.method];
      this.transport.send(result ? { jsonrpc: "2.0", id: m.id, result } : { jsonrpc: "2.0", id: m.id, error: { code: -32601, message: "no" } }).catch(() => {});
    } else if (m.method) {
      this.heard.push(m);
    } else {
      this.waiting.get(m.id)?.(m);
      this.waiting.delete(m.id);
    }
  }
  start(method, params) {
    const id = this.next++;
    const answer = new Promise((then) => this.waiting.set(id, then));
    const sent = this.transport.send({ jsonrpc: "2.0", id, method, params });
    return { id, answer: Promise.race([answer, sent.then(() => answer)]) };
  }
  request(method, params = {}, ms = patience) {
    return bounded(this.start(method, params).answer, ms, method);
  }
  async open() {
    await this.transport.start();
    const { result, error } = await this.request("initialize", {
      protocolVersion: "2025-11-25", capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} }, clientInfo: { name: "compare", version: "1" } });
    if (error) throw new Error(error.message);
    this.transport.setProtocolVersion?.(result.protocolVersion);
    await this.transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return result;
  }
}

// A world: a home, a project that is the client's root, and a secret beside it. The filesystem server is started with the folder
// above both, as people do who have several projects: only the roots of the client keep it to one.
function makeWorld(name) {
  const dir = mkdtempSync(join(tmpdir(), `peers-${name}-`));
  for (const folder of ["home", "all/project", "all/other", "run"]) mkdirSync(join(dir, folder), { recursive: true, mode: 0o700 });
  writeFileSync(join(dir, "all/project/hello.txt"), "hello\n");
  writeFileSync(join(dir, "all/other/secret.txt"), "the secret beside the project\n");
  const log = (server) => join(dir, `${server}.log`);
  const bin = (program) => join(modules, ".bin", program);
  const witness = (server, ...command) => ({ command: process.execPath, args: [join(here, "witness.mjs"), log(server), ...command] });
  const servers = {
    filesystem: witness("filesystem", bin("mcp-server-filesystem"), join(dir, "all")),
    everything: witness("everything", bin("mcp-server-everything"), "stdio"),
    odd: witness("odd", "odd"),
  };
  const env = { HOME: join(dir, "home"), PATH: `${dirname(process.execPath)}:${process.env.PATH}`, XDG_RUNTIME_DIR: join(dir, "run"), TMPDIR: join(dir, "run"), NO_COLOR: "1" };
  const started = [];
  const run = (command, args) => {
    const child = spawn(command, args, { env, cwd: join(dir, "home"), stdio: ["ignore", "pipe", "pipe"], detached: true });
    let said = "";
    child.stdout.on("data", (b) => (said += b));
    child.stderr.on("data", (b) => (said += b));
    started.push(child);
    return { said: () => said, gone: () => child.exitCode !== null };
  };
  const end = () => {
    for (const child of started) {
      try { process.kill(-child.pid, "SIGTERM"); } catch {}
    }
    return sleep(500).then(() => {
      for (const child of started) {
        try { process.kill(-child.pid, "SIGKILL"); } catch {}
      }
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    });
  };
  const write = (file, value) => (writeFileSync(join(dir, file), JSON.stringify(value)), join(dir, file));
  const wire = (server) => (existsSync(log(server)) ? readFileSync(log(server), "utf8").split("\n") : []);
  return { dir, project: join(dir, "all/project"), secret: join(dir, "all/other/secret.txt"), servers, env, run, end, write, wire, bin };
}

// What leaves the client is the text of JSON.stringify; a long number has to be put into it afterwards.
const withNumber = (text) => text.replaceAll('"@@number"', longNumber);
const patched = (url, init) => {
  if (!init?.body) return fetch(url, init);
  const headers = new Headers(init.headers);
  if (headers.get("mcp-protocol-version") === "2026-07-28") headers.set("mcp-method", JSON.parse(init.body).method);
  return fetch(url, { ...init, headers, body: withNumber(init.body) });
};
function stdio(w, command, args) {
  const t = new StdioClientTransport({ command, args, env: w.env, cwd: join(w.dir, "home"), stderr: "ignore" });
  t.send = (message) => new Promise((then) => (t._process.stdin.write(withNumber(JSON.stringify(message)) + "\n") ? then() : t._process.stdin.once("drain", then)));
  return t;
}
const web = (url) => new StreamableHTTPClientTransport(new URL(url), { fetch: patched });
const answers = (url) => until(() => fetch(url, { method: "GET", signal: AbortSignal.timeout(1000) }).then(() => true, (e) => e.name === "TimeoutError"));

// Each peer gives a transport for a server, and the name that a tool of it has there.
const version = (pkg) => JSON.parse(readFileSync(join(modules, pkg, "package.json"), "utf8")).version;
const prefixed = (sign) => (server, tool) => server + sign + tool;
const plain = (_, tool) => tool;
const peers = {
  direct: { version: "-", kind: "no hub", name: plain, connect: (w) => (server) => stdio(w, w.servers[server].command, w.servers[server].args) },
  mcphub: {
    version: execFileSync(mcphub, ["version"]).toString().split(" ")[1], kind: "hub, stdio", name: prefixed("__"),
    connect: (w) => (w.config = w.write("hub.json", { mcpServers: w.servers }), () => stdio(w, mcphub, ["serve", "--config", w.config])),
  },
  "mcphub over HTTP": {
    version: execFileSync(mcphub, ["version"]).toString().split(" ")[1], kind: "hub, HTTP", name: prefixed("__"),
    connect: async (w) => {
      const port = await freePort();
      w.run(mcphub, ["serve", "--http", `127.0.0.1:${port}`, "--config", w.write("hub.json", { mcpServers: w.servers })]);
      await answers(`http://127.0.0.1:${port}/`);
      return () => web(`http://127.0.0.1:${port}/mcp`);
    },
  },
  "mcp-hub": {
    version: version("mcp-hub"), kind: "hub, SSE", name: prefixed("__"),
    connect: async (w) => {
      const port = await freePort();
      const hub = w.run(w.bin("mcp-hub"), ["--port", String(port), "--config", w.write("hub.json", { mcpServers: w.servers })]);
      await until(() => /ready|started/i.test(hub.said()) && w.wire("everything").length > 5, patience);
      return () => new SSEClientTransport(new URL(`http://localhost:${port}/mcp`), { fetch: patched });
    },
  },
  mcporter: {
    version: version("mcporter"), kind: "hub, stdio", name: prefixed("__"),
    connect: (w) => {
      const servers = Object.fromEntries(Object.entries(w.servers).map(([name, entry]) => [name, { ...entry, lifecycle: "keep-alive" }]));
      const config = w.write("mcporter.json", { mcpServers: servers, imports: [] });
      w.after = () => execFileSync(w.bin("mcporter"), ["--config", config, "daemon", "stop"], { env: w.env, cwd: join(w.dir, "home"), stdio: "ignore" });
      return () => stdio(w, w.bin("mcporter"), ["--config", config, "serve", "--stdio"]);
    },
  },
  "mcp-proxy": {
    version: version("mcp-proxy"), kind: "bridge to HTTP", name: plain,
    connect: (w) => async (server) => {
      const port = await freePort();
      w.run(w.bin("mcp-proxy"), ["--port", String(port), "--host", "127.0.0.1", "--", w.servers[server].command, ...w.servers[server].args]);
      await answers(`http://127.0.0.1:${port}/ping`);
      return web(`http://127.0.0.1:${port}/mcp`);
    },
  },
  supergateway: {
    version: version("supergateway"), kind: "bridge to HTTP", name: plain,
    connect: (w) => async (server) => {
      const port = await freePort();
      const { command, args } = w.servers[server];
      w.run(w.bin("supergateway"), ["--stdio", [command, ...args].join(" "), "--outputTransport", "streamableHttp", "--stateful", "--port", String(port), "--logLevel", "none"]);
      await answers(`http://127.0.0.1:${port}/`);
      return web(`http://127.0.0.1:${port}/mcp`);
    },
  },
};

async function examine(name, peer, direct) {
  const w = makeWorld(name);
  const facts = { hub: name, version: peer.version, kind: peer.kind };
  const clients = [];
  const note = async (what, find) => {
    try {
      facts[what] = await find();
    } catch (err) {
      facts[what] = `none: ${err.message.split("\n")[0].slice(0, 100)}`;
    }
  };
  try {
    const connect = await peer.connect(w);
    const shared = name === "direct" || peer.kind.startsWith("bridge") ? null : new Client(await connect(), w.project);
    const open = new Map();
    const client = async (server) => {
      if (!shared && !open.has(server)) open.set(server, new Client(await connect(server), w.project));
      const c = shared ?? open.get(server);
      if (!c.hello) {
        clients.push(c);
        c.hello = await c.open();
      }
      return c;
    };
    const call = async (server, tool, args, more = {}) => (await client(server)).request("tools/call", { name: peer.name(server, tool), arguments: args, ...more });
    const text = (answer) => (answer.error ? `error ${answer.error.code}: ${answer.error.message}` : (answer.result.content ?? []).map((c) => c.text).join(" "));
    // A hub may list a server's tools later than its own.
    const tools = async (server) => {
      const found = await until(async () => {
        const { result } = await (await client(server)).request("tools/list");
        const all = (result?.tools ?? []).filter((t) => peer.name(server, "") === "" || t.name.startsWith(peer.name(server, "")));
        return all.length > 0 && all;
      });
      if (!found) throw new Error(`no tool of ${server} is listed`);
      return found;
    };
    const told = (server, pattern) => w.wire(server).filter((line) => line.startsWith(">") && pattern.test(line));

    await note("protocol", async () => (await client("odd")).hello.protocolVersion);
    for (const server of Object.keys(w.servers)) await note(`tools of ${server}`, async () => (await tools(server)).length);
    await sleep(1000); // roots are asked for after the handshake

    await note("first roots", async () => {
      await until(() => told("filesystem", /"roots":\[\{/).length > 0, 3000);
      return told("filesystem", /"roots":\[\{/).length > 0 ? "reach the server" : "no";
    });
    await note("read inside", async () => (/hello/.test(text(await call("filesystem", "read_text_file", { path: join(w.project, "hello.txt") }))) ? "yes" : "no"));
    await note("read outside the roots", async () => {
      const answer = text(await call("filesystem", "read_text_file", { path: w.secret }));
      const reached = told("filesystem", /secret\.txt/).length > 0;
      return /the secret/.test(answer) ? "the text is returned" : reached ? "the server refuses" : "refused, the server is not called";
    });
    await note("a root that is added", async () => {
      const c = await client("filesystem");
      c.more.push(dirname(w.secret));
      await c.transport.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
      return (await until(() => told("filesystem", /"roots":\[\{.*other/).length > 0, 5000)) ? "reaches the server" : "no";
    });
    await note("sampling", async () => (/a sample from the client/.test(text(await call("everything", "trigger-sampling-request", { prompt: "hello", maxTokens: 10 }))) ? "yes" : "no"));
    await note("elicitation", async () => {
      await call("everything", "trigger-elicitation-request", {});
      return (await client("everything")).asked.includes("elicitation/create") ? "yes" : "no";
    });
    await note("progress", async () => {
      const c = await client("everything");
      const before = c.heard.length;
      await call("everything", "trigger-long-running-operation", { duration: 1, steps: 4 }, { _meta: { progressToken: "p-1" } });
      return `${c.heard.slice(before).filter((m) => m.method === "notifications/progress" && m.params.progressToken === "p-1").length} of 4`;
    });
    await note("cancellation", async () => {
      const c = await client("everything");
      const { id } = c.start("tools/call", { name: peer.name("everything", "trigger-long-running-operation"), arguments: { duration: 8, steps: 2 } });
      if (!(await until(() => told("everything", /"duration":8/).length > 0, 3000))) return "no";
      await c.transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason: "not needed" } });
      return (await until(() => told("everything", /notifications\/cancelled/).length > 0, 3000)) ? "yes" : "no";
    });

    let definitions, result;
    await note("definitions", async () => {
      definitions = (await tools("odd")).map((t) => ({ ...t, name: t.name.slice(peer.name("odd", "").length) }));
      return !direct || isDeepStrictEqual(definitions, direct.definitions) ? "unchanged" : "changed";
    });
    await note("results", async () => {
      result = (await call("odd", "echo", { text: "hello" })).result;
      return !direct || isDeepStrictEqual(result, direct.result) ? "unchanged" : "changed";
    });
    await note("long numbers", async () => {
      await call("odd", "echo", { text: "hello", number: "@@number" });
      return told("odd", new RegExp(longNumber)).length > 0 ? "unchanged" : "changed";
    });
    await note("errors", async () => {
      const { error } = await call("odd", "fail", { text: "x" });
      return error?.code === -32077 && error.data?.["x-house"] ? "unchanged" : "changed";
    });

    await note("client of 2026-07-28", async () => {
      const c = new Client(await connect("odd"), w.project);
      clients.push(c);
      await c.transport.start();
      c.transport.setProtocolVersion?.("2026-07-28");
      const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": { name: "compare", version: "1" } };
      const { result: said } = await c.request("server/discover", { _meta: meta }, 5000).catch(() => ({}));
      return said?.supportedVersions?.includes("2026-07-28") ? "yes" : "no";
    });

    await note("p50", async () => {
      const c = await client("everything");
      const times = [];
      for (let i = -30; i < calls; i++) {
        const began = process.hrtime.bigint();
        await c.request("tools/call", { name: peer.name("everything", "echo"), arguments: { message: "hello" } });
        if (i >= 0) times.push(Number(process.hrtime.bigint() - began) / 1e6);
      }
      return times.sort((a, b) => a - b)[calls / 2];
    });
    return { facts, definitions, result };
  } finally {
    await Promise.allSettled(clients.map((c) => bounded(c.transport.close(), 3000, "close")));
    try { w.after?.(); } catch {}
    await w.end();
  }
}

// What is seen in several rounds, in one text: the middle of the times, and how often each other thing was seen.
function together(values) {
  if (values.every((v) => typeof v === "number")) return values.sort((a, b) => a - b)[values.length >> 1];
  const kinds = [...new Set(values)];
  if (kinds.length === 1) return kinds[0];
  return kinds.map((kind) => `${kind} (${values.filter((v) => v === kind).length} of ${values.length})`).join(", ");
}

const seen = {};
let direct;
for (let round = 1; round <= rounds; round++) {
  for (const [name, peer] of Object.entries(peers)) {
    if (name !== "direct" && only.length > 0 && !only.includes(name)) continue;
    const found = await examine(name, peer, direct).catch((err) => ({ facts: { hub: name, version: peer.version, kind: peer.kind, failed: err.message } }));
    if (name === "direct") direct = found;
    console.log(JSON.stringify(found.facts));
    (seen[name] ??= []).push(found.facts);
  }
}
const all = Object.values(seen).map((list) => Object.fromEntries(Object.keys(list[0]).map((fact) => [fact, together(list.map((f) => f[fact]))])));
for (const facts of all) {
  if (typeof facts.p50 === "number") facts["p50 of a call"] = `${facts.p50.toFixed(2)} ms`;
  delete facts.p50;
}
const rows = [...new Set(all.flatMap(Object.keys))].filter((row) => row !== "hub");
console.log(`\n| | ${all.map((f) => f.hub).join(" | ")} |\n|---|${"---|".repeat(all.length)}`);
for (const row of rows) console.log(`| ${row} | ${all.map((f) => f[row] ?? "").join(" | ")} |`);
process.exit(0);
