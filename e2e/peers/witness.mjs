// Stands between a hub and a server, and writes down what each says: "> LINE" to the server, "< LINE" from it.
//   node witness.mjs FILE PROGRAM ARGS...
// With "odd" instead of a program it is a server itself, with a tool whose definition, answers and errors have members that no
// version of the protocol names.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [file, program, ...args] = process.argv.slice(2);
const lines = (stream, sign, then) =>
  createInterface({ input: stream, crlfDelay: Infinity }).on("line", (line) => {
    appendFileSync(file, `${sign} ${line}\n`);
    then(line);
  });

if (program === "odd") {
  const odd = { "x-house": { colour: "red", order: [3, 1, 2] } };
  const tools = ["echo", "fail"].map((name) => ({
    name, description: name, ...odd, inputSchema: { type: "object", properties: { text: { type: "string", ...odd } }, $comment: "kept" }, annotations: { ...odd },
  }));
  lines(process.stdin, ">", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined || !method) return;
    const body = () => {
      if (method === "initialize") return { result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "odd", version: "1" } } };
      if (method === "tools/list") return { result: { tools } };
      if (method === "ping") return { result: {} };
      if (method === "tools/call" && params.name.endsWith("fail")) return { error: { code: -32077, message: "it failed", data: odd } };
      if (method === "tools/call") return { result: { content: [{ type: "text", text: "said", ...odd }], ...odd, _meta: odd } };
      return { error: { code: -32601, message: "no such method" } };
    };
    const answer = JSON.stringify({ jsonrpc: "2.0", id, ...body() });
    appendFileSync(file, `< ${answer}\n`);
    process.stdout.write(answer + "\n");
  }).on("close", () => process.exit(0));
} else {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  lines(process.stdin, ">", (line) => child.stdin.write(line + "\n")).on("close", () => child.stdin.end());
  lines(child.stdout, "<", (line) => process.stdout.write(line + "\n"));
  child.on("exit", (code) => process.exit(code ?? 1));
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => child.kill(signal));
}
