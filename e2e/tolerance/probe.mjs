// What the official TypeScript clients get of servers, side by side in one process.
//
// Each line of stdin is a question, and gets one line of stdout.
//
// in:  {"sessions": [{"client": "v1" | "v2" | "auto", "limit", "command", "args", "env", "cwd" | "url", "headers",
//        "servers": [{"key", "prefix", "parts": ["call", "get", "read"]}], "until": {"tools": [name...], "prompts", "resources", "resourceTemplates"}}]}
// out: [{"error"} | {"servers": {key: {part: {"value"} | {"error", "code"}}}}]
//
// auto is v2 that begins with server/discover. key is the name of a server, in the URIs of its resources; prefix is before its names.
// Lists are asked for until they have what stands in until. limit: how long a request may take, in ms. The parts are those of
// probe_test.go.
import { createInterface } from 'node:readline';
import { Client as V1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as V1Stdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as V1HTTP } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as V2, StreamableHTTPClientTransport as V2HTTP } from '@modelcontextprotocol/client';
import { StdioClientTransport as V2Stdio } from '@modelcontextprotocol/client/stdio';

console.log = console.warn = console.info = console.debug = () => {}; // stdout is the report's

const who = { name: 'probe', version: '1' };
const makers = {
  v1: [() => new V1(who), V1Stdio, V1HTTP],
  v2: [() => new V2(who, { versionNegotiation: { mode: 'legacy' } }), V2Stdio, V2HTTP],
  auto: [() => new V2(who, { versionNegotiation: { mode: 'auto' } }), V2Stdio, V2HTTP],
};
const said = { text: 'é \u2028 "1"', n: [1, null, { a: 1.5 }] };

const failed = (error) => ({ error: String(error.message ?? error), ...(Number.isInteger(error.code) ? { code: error.code } : {}) });
const tried = (promise) => promise.then((value) => ({ value }), failed);
const pick = (from, ...names) => Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));

async function session({ client: kind, limit, servers, until, url, headers, ...server }) {
  const [make, Stdio, HTTP] = makers[kind];
  const client = make();
  client.onerror = () => {};
  const options = { timeout: limit, maxTotalTimeout: limit };
  const lists = {
    tools: (p) => client.listTools(p, options),
    prompts: (p) => client.listPrompts(p, options),
    resources: (p) => client.listResources(p, options),
    resourceTemplates: (p) => client.listResourceTemplates(p, options),
  };
  async function whole(list) {
    const all = new Map();
    let cursor;
    for (let page = 0; page < 8; page += 1) {
      const got = await lists[list](cursor ? { cursor } : {});
      for (const entry of got[list]) all.set(JSON.stringify(entry), entry);
      if (!got.nextCursor || got.nextCursor === cursor) break;
      cursor = got.nextCursor;
    }
    return [...all.values()];
  }
  async function awaited(list, end) {
    const wanted = until?.[list] ?? [];
    for (;;) {
      const listed = await tried(whole(list)); // it fails if the list changes between two pages
      const names = new Set(listed.value?.map((entry) => entry.uri ?? entry.uriTemplate ?? entry.name));
      if (Date.now() > end || wanted.every((name) => names.has(name))) return listed;
      await new Promise((then) => { setTimeout(then, 200); });
    }
  }
  const owner = (entry, { key, prefix }) => (entry.uri ?? entry.uriTemplate ?? `odd://${key}/`).startsWith(`odd://${key}/`)
    && (entry.uri !== undefined || entry.uriTemplate !== undefined || entry.name.startsWith(prefix));
  const own = (listed, one) => (listed.value === undefined ? listed : { value: listed.value.filter((entry) => owner(entry, one))
    .map((entry) => (entry.uri === undefined && entry.uriTemplate === undefined ? { ...entry, name: entry.name.slice(one.prefix.length) } : entry)) });
  try {
    const transport = url ? new HTTP(new URL(url), { requestInit: { headers } }) : new Stdio({ ...server, stderr: 'ignore' });
    await client.connect(transport, options);
    const listed = {};
    const end = Date.now() + limit;
    for (const list of Object.keys(lists)) listed[list] = await awaited(list, end);
    const all = await Promise.all(servers.map(async (one) => {
      const parts = Object.fromEntries(Object.keys(lists).map((list) => [list, own(listed[list], one)]));
      const ask = {
        call: () => client.callTool({ name: `${one.prefix}say`, arguments: said }, ...(kind === 'v1' ? [undefined, options] : [options]))
          .then((result) => pick(result, 'content', 'structuredContent', 'isError')),
        get: () => client.getPrompt({ name: `${one.prefix}greet`, arguments: { who: 'Ada' } }, options).then((result) => pick(result, 'description', 'messages')),
        read: () => client.readResource({ uri: `odd://${one.key}/note` }, options).then((result) => pick(result, 'contents')),
      };
      for (const part of one.parts) parts[part] = await tried(ask[part]());
      return [one.key, parts];
    }));
    return { servers: Object.fromEntries(all) };
  } catch (error) {
    return failed(error);
  } finally {
    await Promise.race([client.close().catch(() => {}), new Promise((then) => { setTimeout(then, 3000); })]);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await Promise.all(JSON.parse(line).sessions.map(session)))}\n`);
}
process.exit(0); // whatever a server left open
