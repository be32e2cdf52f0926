// What `conformance client --command` runs: the hub with the suite's server as its only child, and the official TypeScript SDK
// client in front of the hub, doing what the scenario wants done.
//
// node suite.mjs URL; MCPHUB names the hub's binary, MCP_CONFORMANCE_SCENARIO the scenario, and MCP_CONFORMANCE_CONTEXT what it
// brings. It fails when the scenario cannot be played; the suite judges what reached its server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js';

const patience = 10_000; // for a call
const url = process.argv.at(-1);
const config = join(mkdtempSync(join(process.env.HOME, 'suite-')), 'hub.json');
// The client here is one of the handshake, and a server of both eras would be spoken to as it is.
const era = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION >= '2026' ? 'modern' : 'auto';
const brings = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || '{}');
const login = process.env.MCP_CONFORMANCE_SCENARIO.startsWith('auth/');
let issuer; // that hub.json names
configure();

function configure() {
  const auth = login && { auth: { ...account(), issuer } };
  writeFileSync(config, JSON.stringify({ mcpServers: { suite: { url, prefix: '', era, ...auth } }, secrets: { store: 'file' } }));
}

// permit is a person who trusts the authorization server at another port of this machine, and writes into hub.json what the hub
// says to; true where it was not there.
function permit(said) {
  const [, named] = said.match(/write \\*"auth\\*": {\\*"issuer\\*": \\*"([^"\\]+)/) ?? said.match(/authorization server is (\S+), and \\*"auth/) ?? [];
  if (!named || named === issuer) return false;
  issuer = named;
  configure();
  return true;
}

// account is what the scenario has registered: a client, one that logs in itself, or nothing.
function account() {
  const { client_id: clientId, client_secret, private_key_pem } = brings;
  const clientSecret = client_secret ?? private_key_pem;
  if (process.env.MCP_CONFORMANCE_SCENARIO.startsWith('auth/client-credentials')) return { clientId, clientSecret, flow: 'client' };
  if (process.env.MCP_CONFORMANCE_SCENARIO === 'auth/basic-cimd') return { clientId: 'https://conformance-test.local/client-metadata.json' };
  return clientId ? { clientId, clientSecret } : {};
}

// logIn is a person who logs in by a browser: it opens the page that the hub names, and follows it to its end.
async function logIn() {
  const hub = spawn(process.env.MCPHUB, ['auth', 'login', 'suite', '--no-browser', '--config', config], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(hub, 'exit');
  let said = '';
  hub.stderr.on('data', (text) => (said += text));
  for await (const line of createInterface(hub.stdout)) {
    console.error(line);
    if (line.startsWith('http')) await (await fetch(line)).text();
  }
  const [code] = await ended;
  if (permit(said)) return logIn();
  if (code !== 0) throw new Error(`the login ended with status ${code}: ${said}`);
  await passes('backing off'); // the hub starts the server again after a pause
}

// passes waits until list-tools says this no more.
async function passes(text) {
  const until = Date.now() + patience;
  while (JSON.stringify(await call('list-tools')).includes(text) && Date.now() < until) await setTimeout(100);
}

const client = new Client({ name: 'suite', version: '1' }, { capabilities: { elicitation: { form: { applyDefaults: true } } } });
const answer = { confirmed: true }; // to the forms that have no defaults
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  const known = Object.keys(params.requestedSchema?.properties ?? {}).filter((name) => name in answer);
  return { action: 'accept', content: Object.fromEntries(known.map((name) => [name, answer[name]])) };
});

const own = new Set(['get-roots', 'call-tool', 'list-tools', 'find-tools']);
async function tools() {
  const { tools } = await client.request({ method: 'tools/list', params: {} }, ResultSchema);
  return tools.filter(({ name }) => !own.has(name));
}

// tool gives one of the child's tools, '*' being any: list-tools has waited for the child.
async function tool(name) {
  await call('list-tools');
  const found = (await tools()).find((t) => name === '*' || t.name === name);
  if (!found) throw new Error(`${name} is not listed`);
  return found;
}

async function call(name, args = {}) {
  return client.request({ method: 'tools/call', params: { name, arguments: args } }, ResultSchema, { timeout: patience });
}

async function play(name, args) {
  await tool(name);
  return call(name, args);
}

// sample gives arguments that the hub lets pass: every property that there is.
const values = { string: 'us-west1', number: 1.5, integer: 1, boolean: true, object: {}, array: [], null: null };
function sample({ properties = {} }) {
  return Object.fromEntries(Object.entries(properties).map(([name, { type }]) => [name, values[type]]));
}

const plays = {
  initialize: () => call('list-tools'), // which waits for the child
  'request-metadata': () => call('list-tools'),
  tools_call: () => play('add_numbers', { a: 5, b: 3 }),
  'sse-retry': () => play('test_reconnection'),
  'elicitation-sep1034-client-defaults': () => play('test_client_elicitation_defaults'),
  async 'json-schema-2020-12-preservation'() {
    const { inputSchema } = await tool('json_schema_2020_12_tool');
    await call('json_schema_echo', { schema: inputSchema });
  },
  'json-schema-ref-no-deref': () => tool('*'),
  async 'sep-2322-client-request-state'() {
    for (const name of ['echo_state', 'no_state', 'unrelated', 'no_result_type']) await play(`test_mrtr_${name}`);
  },
  async 'http-standard-headers'() {
    await call((await tool('*')).name);
    const ask = (method, params = {}) => client.request({ method, params }, ResultSchema);
    const [resource] = (await ask('resources/list')).resources;
    await ask('resources/read', { uri: resource.uri });
    const [prompt] = (await ask('prompts/list')).prompts;
    await ask('prompts/get', { name: prompt.name });
  },
  async 'http-custom-headers'() {
    for (const { name, arguments: args } of JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT).toolCalls) {
      const nulls = Object.keys(args).filter((key) => args[key] === null);
      const { isError, content } = await play(name, args);
      if (nulls.length === 0) continue;
      // The tool's schema has no null there: the hub says so, by the pointer, and the caller leaves it out.
      if (!isError || !nulls.every((key) => content[0].text.includes(`/${key}`))) throw new Error(`null passes for ${nulls}`);
      await call(name, Object.fromEntries(Object.entries(args).filter(([key]) => !nulls.includes(key))));
    }
  },
  async 'http-invalid-tool-headers'() {
    await tool('valid_tool');
    for (const { name, inputSchema } of await tools()) await call(name, sample(inputSchema)).catch(() => {}); // refused is well
  },
};

// withLogins calls the server's tool, logs in as often as the hub says that it helps, and gives up in the end.
async function withLogins() {
  for (let logins = 0; ; logins++) {
    let said;
    try {
      const { content, isError } = await call((await tool('*')).name);
      if (!isError) return;
      said = content[0].text;
    } catch (err) {
      said = `${err.message} ${JSON.stringify(await call('list-tools').catch(() => ''))}`;
    }
    if (permit(said)) {
      await passes('private address');
      continue;
    }
    if (logins === 3 || !said.includes('mcphub auth login suite')) throw new Error(said);
    await logIn();
  }
}

await client.connect(
  new StdioClientTransport({ command: process.env.MCPHUB, args: ['serve', '--config', config], env: { ...process.env } }),
);
try {
  await (login ? withLogins : plays[process.env.MCP_CONFORMANCE_SCENARIO])();
} finally {
  await client.close();
}
