// An official TypeScript SDK client, of v1 or of v2, does once whatever a client and the fixture can do with each other.
//
// in:  {"sdk": "v1" | "v2", "mode": "legacy" | "auto" | {"pin": version}, "command", "args", "env", "cwd" | "url", "headers", "prefix", "roots", "inside",
//       "lists": true to list the tools and do nothing else}
// out: {"version", "texts": {step: text}, "progress": [number], "asked": {method: count}, "changed": [what], "tools": [name] with "lists"}
//
// v1 knows the handshake alone; mode is for v2. prefix is before the name of each tool; inside is a file that may be touched.
import { text } from 'node:stream/consumers';

const scenario = JSON.parse(await text(process.stdin));
const report = { texts: {}, progress: [], asked: {}, changed: [] };
const watched = 'test://watched-resource';

const answers = {
  'roots/list': () => ({ roots: scenario.roots }),
  'sampling/createMessage': () => ({
    model: 'm', role: 'assistant', stopReason: 'endTurn', content: { type: 'text', text: 'forty-two' },
  }),
  'elicitation/create': ({ requestedSchema }) => {
    const known = { username: 'Ada', email: 'ada@example.org', name: 'Ada' };
    const names = Object.keys(requestedSchema.properties).filter((name) => name in known);
    return { action: 'accept', content: Object.fromEntries(names.map((name) => [name, known[name]])) };
  },
};
const news = { 'notifications/tools/list_changed': 'tools', 'notifications/prompts/list_changed': 'prompts', 'notifications/resources/updated': 'resource' };
const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {} } };
const waiting = {};
const again = []; // called at whatever comes next
const happened = Object.fromEntries(Object.values(news).map((what) => [what, new Promise((wake) => { waiting[what] = wake; })]));

function ask(method) {
  return ({ params }) => {
    report.asked[method] = (report.asked[method] ?? 0) + 1;
    return answers[method](params ?? {});
  };
}
function tell(method) {
  return () => {
    const what = news[method];
    if (!report.changed.includes(what)) report.changed.push(what);
    waiting[what]();
    for (const wake of again.splice(0)) wake();
  };
}

async function v1() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const types = await import('@modelcontextprotocol/sdk/types.js');
  const client = new Client({ name: 'ts-v1', version: '1' }, { capabilities });
  for (const [method, schema] of Object.entries({
    'roots/list': types.ListRootsRequestSchema, 'sampling/createMessage': types.CreateMessageRequestSchema, 'elicitation/create': types.ElicitRequestSchema,
  })) client.setRequestHandler(schema, ask(method));
  for (const [method, schema] of Object.entries({
    'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
    'notifications/prompts/list_changed': types.PromptListChangedNotificationSchema,
    'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
  })) client.setNotificationHandler(schema, tell(method));
  return {
    client,
    transport: scenario.url ? new StreamableHTTPClientTransport(new URL(scenario.url), { requestInit: { headers: scenario.headers ?? {} } }) : new StdioClientTransport({ ...scenario, stderr: 'inherit' }),
    call: (params, options) => client.callTool(params, undefined, options),
    follow: () => client.subscribeResource({ uri: watched }),
    version: (transport) => transport.protocolVersion ?? transport._protocolVersion ?? '2025-11-25',
  };
}

async function v2() {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const client = new Client({ name: 'ts-v2', version: '1' }, { capabilities, versionNegotiation: { mode: scenario.mode } });
  for (const method of Object.keys(answers)) client.setRequestHandler(method, ask(method));
  for (const method of Object.keys(news)) client.setNotificationHandler(method, tell(method));
  return {
    client,
    transport: scenario.url ? new StreamableHTTPClientTransport(new URL(scenario.url), { requestInit: { headers: scenario.headers ?? {} } }) : new StdioClientTransport({ ...scenario, stderr: 'inherit' }),
    call: (params, options) => client.callTool(params, options),
    async follow() {
      if (client.getNegotiatedProtocolVersion() < '2026-07-28') return client.subscribeResource({ uri: watched });
      return client.listen({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [watched] });
    },
    version: () => client.getNegotiatedProtocolVersion(),
  };
}

const { client, transport, call, follow, version } = await { v1, v2 }[scenario.sdk]();
await client.connect(transport);
report.version = version(transport);
if (scenario.lists) {
  const { tools } = await client.listTools();
  await client.close();
  process.stdout.write(`${JSON.stringify({ ...report, tools: tools.map(({ name }) => name) })}\n`);
  process.exit();
}

async function tool(name, args = {}, options = {}) {
  const { content, isError } = await call({ name, arguments: args }, options);
  return (isError ? 'failed: ' : '') + content.map((part) => part.text).join('');
}
const child = (name, ...rest) => tool(scenario.prefix + name, ...rest);

await client.listTools();
await client.listPrompts();
const { texts } = report;
texts.call = await child('test_simple_text');
texts.progress = await child('test_tool_with_progress', {}, { onprogress: ({ progress }) => report.progress.push(progress) });
const taken = new AbortController();
texts.cancel = await child('wait', { ms: 600_000 }, { signal: taken.signal, onprogress: () => taken.abort('not wanted') }).then(
  () => 'answered', () => child('await_cancelled'));
texts.elicitation = await child('test_elicitation', { message: 'who are you?' });
texts.sampling = await child('test_sampling', { prompt: 'what is it?' });
texts.roots = await child('list_roots');
texts.all = await child('test_input_required_result_multiple_inputs');
const subscription = await follow();
texts.change = await child('test_trigger_tool_change');
await happened.tools;
// It may have been told of a change before: while children start there are some.
for (;;) {
  const next = new Promise((wake) => again.push(wake));
  if ((await client.listTools()).tools.some(({ name }) => name === `${scenario.prefix}added_later`)) break;
  await next;
}
texts.later = await child('added_later');
texts.prompts = await child('test_trigger_prompt_change');
await happened.prompts;
texts.update = await child('touch_watched_resource');
await happened.resource;
texts.inside = await child('takes_path', { path: scenario.inside });
texts.outside = await child('takes_path', { path: '/etc/passwd' });
await subscription?.close?.();
await client.close();
delete report.asked['roots/list']; // how often is the hub's to decide
report.changed.sort();
process.stdout.write(`${JSON.stringify(report)}\n`);
