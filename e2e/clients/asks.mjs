// A session of the official TypeScript SDK client that can be asked: everything server-everything asks and says of it.
//
// in:  {"command", "args", "env", "cwd", "prefix"}   on stdin; prefix is before each tool's name
// out: {"tools", "results", "asked", "logs"}        names without the prefix; what the tools answered, what was asked, in order
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, LoggingMessageNotificationSchema, ResultSchema, ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const { command, args, env, cwd, prefix } = JSON.parse(await text(process.stdin));
const client = new Client(
  { name: 'asked-client', version: '1' },
  { capabilities: { sampling: {}, elicitation: { form: {}, url: {} } } },
);
const report = { asked: [], logs: 0, results: {} };
let changed = () => {};
let logged = () => {};
client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
  report.asked.push({ sampling: params });
  return { model: 'a-model', role: 'assistant', stopReason: 'endTurn', content: { type: 'text', text: 'forty-two' } };
});
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  report.asked.push({ elicitation: params });
  if (params.mode === 'url') return { action: 'accept' };
  const field = Object.keys(params.requestedSchema.properties)[0];
  const choice = params.requestedSchema.properties[field].oneOf?.[0].const;
  return { action: 'accept', content: { [field]: choice ?? 'somebody' } };
});
client.setNotificationHandler(LoggingMessageNotificationSchema, () => {
  report.logs += 1;
  logged();
});
client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed());
await client.connect(new StdioClientTransport({ command, args, env, cwd, stderr: 'inherit' }));

// The server adds the tools that depend on the client when the client says that it is there.
for (;;) {
  const again = new Promise((wake) => { changed = wake; });
  const { tools } = await client.request({ method: 'tools/list' }, ResultSchema);
  report.tools = tools.map(({ name }) => name).filter((n) => n.startsWith(prefix)).map((n) => n.slice(prefix.length)).sort();
  if (report.tools.includes('trigger-url-elicitation') && report.tools.includes('simulate-research-query')) break;
  await again;
}
const call = (name, toolArgs, more) =>
  client.request({ method: 'tools/call', params: { name: prefix + name, arguments: toolArgs, ...more } }, ResultSchema);
report.results.sampling = await call('trigger-sampling-request', { prompt: 'what is it?', maxTokens: 10 });
report.results.form = await call('trigger-elicitation-request', {});
report.results.url = await call('trigger-url-elicitation', { url: 'https://example.org/', elicitationId: 'e-1' });
try {
  await call('trigger-url-elicitation', { url: 'https://example.org/', elicitationId: 'e-2', errorPath: true });
} catch (error) {
  for (const e of error.data.elicitations) e.elicitationId = typeof e.elicitationId; // the server makes it up
  report.results.error = { code: error.code, data: error.data };
}
const made = await call('simulate-research-query', { topic: 'python', ambiguous: true }, { task: { ttl: 60000 } });
const { taskId } = made.task;
report.results.listed = (await client.request({ method: 'tasks/list' }, ResultSchema)).tasks.some((task) => task.taskId === taskId);
report.results.task = await client.request({ method: 'tasks/result', params: { taskId } }, ResultSchema);
report.results.status = (await client.request({ method: 'tasks/get', params: { taskId } }, ResultSchema)).status;
await client.setLoggingLevel('debug');
const log = new Promise((wake) => { logged = wake; });
await call('toggle-simulated-logging', {});
await log;
await client.close();
const words = JSON.stringify(report).replaceAll(taskId, 'TASK');
process.stdout.write(`${words}\n`);
