// Sessions of the official TypeScript clients, v1 and v2, side by side in one process.
//
// in:  {"sessions": [{"sdk": "v1" | "v2", "command", "args", "env", "cwd" | "url", "older", "cases": {case: {"prefix", "steps": [{"do", "name"}...]}}}]}
// out: [{"error"} or {"results": {case: [names, texts or "error: ..."]}}]
//
// older: the protocol version that the client proposes, as an earlier release does. Names of a case are those of its server, behind its prefix. steps:
//   tools, prompts  list them
//   await           lists the tools until this one is there: v1 at each list_changed, v2 four times a second
//   call            calls a tool
//   told            calls a tool, and then lists them; whether a list_changed came before the answer
//   prompt          gets a prompt
//
// No step takes longer than 30 seconds: its error says what it waited for.
import { text } from 'node:stream/consumers';
import { Client as V1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as V1Stdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as V1HTTP } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as V2, StreamableHTTPClientTransport as V2HTTP } from '@modelcontextprotocol/client';
import { StdioClientTransport as V2Stdio } from '@modelcontextprotocol/client/stdio';

const limit = 30_000;
const sdks = { v1: [V1, V1Stdio, V1HTTP, ToolListChangedNotificationSchema], v2: [V2, V2Stdio, V2HTTP, 'notifications/tools/list_changed'] };

async function within(promise, what) {
  let timer;
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error(`waited ${limit} ms for ${what()}`)), limit); });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function session({ sdk, url, older, cases, ...server }) {
  const [Client, Stdio, HTTP, listChanged] = sdks[sdk];
  const client = new Client({ name: `odd-${sdk}`, version: '1' });
  let told = 0;
  const waiting = [];
  client.setNotificationHandler(listChanged, () => {
    told += 1;
    for (const wake of waiting.splice(0)) wake();
  });
  const transport = url ? new HTTP(new URL(url)) : new Stdio({ ...server, stderr: 'inherit' });
  if (older) {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (message.method === 'initialize') message.params.protocolVersion = older;
      return send(message, options);
    };
  }

  const own = (entries, prefix) => entries.map((entry) => entry.name).filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)).sort();
  const tools = async (prefix) => own((await client.listTools()).tools, prefix);
  const call = async (name) => (await client.callTool({ name, arguments: {} })).content[0].text;
  const steps = {
    tools: (prefix) => tools(prefix),
    prompts: async (prefix) => own((await client.listPrompts()).prompts, prefix),
    call: (prefix, name) => call(prefix + name),
    prompt: async (prefix, name) => (await client.getPrompt({ name: prefix + name })).messages[0].content.text,
    async told(prefix, name) {
      const before = told;
      const said = await call(prefix + name);
      const first = told > before;
      return [said, first, ...await tools(prefix)];
    },
    async await(prefix, name, seen) {
      for (;;) {
        const changed = new Promise((wake) => {
          waiting.push(wake);
          if (sdk === 'v2') setTimeout(wake, 250);
        });
        seen.last = await tools(prefix).catch((error) => [`error: ${error.message}`]);
        if (seen.last.includes(name)) return name;
        if (seen.over) return undefined;
        await changed;
      }
    },
  };
  async function play({ prefix, steps: all }) {
    const results = [];
    for (const step of all) {
      const seen = {};
      const what = () => `${step.do} ${prefix}${step.name ?? ''}, there is ${JSON.stringify(seen.last ?? null)}`;
      results.push(await within(steps[step.do](prefix, step.name, seen), what).catch((error) => `error: ${error.message}`));
      seen.over = true;
    }
    return results;
  }

  try {
    await within(client.connect(transport), () => 'the handshake');
    return { results: Object.fromEntries(await Promise.all(Object.entries(cases).map(async ([name, one]) => [name, await play(one)]))) };
  } catch (error) {
    return { error: String(error.message ?? error) };
  } finally {
    await within(client.close(), () => 'the end').catch((error) => console.error(error.message));
  }
}

const { sessions } = JSON.parse(await text(process.stdin));
const reports = await Promise.all(sessions.map(session));
process.stdout.write(`${JSON.stringify(reports)}\n`, () => process.exit(0)); // whatever a server left open
