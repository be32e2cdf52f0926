// One session of the official TypeScript SDK client, told as JSON on stdin and reported as JSON on stdout.
//
// in:  {"command", "args", "env", "cwd" | "url", "headers", "capabilities", "roots": [{uri, name}], "steps": [step...]}
// out: {"server", "capabilities", "instructions", "results": [{"value"} | {"error": {code, message}}], "asked"}
//
// steps: {"do": "tools"}                       every page of tools/list, entries as the wire had them
//        {"do": "listTools"}                   the SDK's own listTools: it compiles the output schemas
//        {"do": "call", "name", "arguments", "progress"}  the SDK's own callTool: it checks structured content against them;
//                                              with progress, the messages of its progress are a member of the result
//        {"do": "rawCall", "name", "arguments"}  the result as the wire had it, whatever it holds
//        {"do": "request", "method", "params", "until"}  any request, its result as the wire had it; made again
//                                              until that holds this text, if one is given
//        {"do": "notify", "method", "params"}  any notification
//        {"do": "awaitTool", "name"}           waits for list_changed until this tool is listed
//        {"do": "roots", "roots"}              other roots from now on, announced with list_changed
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ListRootsRequestSchema, ResultSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

const scenario = JSON.parse(await text(process.stdin));
let roots = scenario.roots ?? [];
let asked = 0;
let waiting = []; // called at the next tools/list_changed

const client = new Client({ name: 'sdk-client', version: '1' }, { capabilities: scenario.capabilities ?? {} });
if (scenario.capabilities?.roots) {
  client.setRequestHandler(ListRootsRequestSchema, () => {
    asked += 1;
    return { roots };
  });
}
client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
  for (const wake of waiting.splice(0)) wake();
});

async function tools() {
  const all = [];
  let cursor;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: 'tools/list', params }, ResultSchema);
    all.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return all;
}

const doers = {
  tools,
  listTools: () => client.listTools(),
  async call(step) {
    const said = [];
    const options = step.progress ? { onprogress: ({ message }) => said.push(message) } : {};
    const result = await client.callTool({ name: step.name, arguments: step.arguments }, undefined, options);
    return step.progress ? { ...result, progress: said } : result;
  },
  rawCall: (step) =>
    client.request({ method: 'tools/call', params: { name: step.name, arguments: step.arguments } }, ResultSchema),
  async request(step) {
    for (;;) {
      const result = await client.request({ method: step.method, params: step.params }, ResultSchema);
      if (JSON.stringify(result).includes(step.until ?? '')) return result;
    }
  },
  async notify(step) {
    await client.notification({ method: step.method, params: step.params });
    return true;
  },
  async awaitTool(step) {
    for (;;) {
      const changed = new Promise((wake) => waiting.push(wake));
      if ((await tools()).some((tool) => tool.name === step.name)) return true;
      await changed;
    }
  },
  async roots(step) {
    roots = step.roots;
    await client.sendRootsListChanged();
    return true;
  },
};

const transport = scenario.url
  ? new StreamableHTTPClientTransport(new URL(scenario.url), { requestInit: { headers: scenario.headers ?? {} } })
  : new StdioClientTransport({
      command: scenario.command,
      args: scenario.args ?? [],
      env: scenario.env,
      cwd: scenario.cwd,
      stderr: 'inherit',
    });
await client.connect(transport);
const report = {
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
  results: [],
};
for (const step of scenario.steps ?? []) {
  try {
    report.results.push({ value: await doers[step.do](step) });
  } catch (error) {
    report.results.push({ error: { code: error.code, message: String(error.message ?? error) } });
  }
}
if (scenario.url) await transport.terminateSession();
await client.close();
report.asked = asked;
process.stdout.write(`${JSON.stringify(report)}\n`);
