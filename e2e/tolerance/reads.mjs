// The official TypeScript SDK clients read lists: v1, v2 of the handshake, and v2 of 2026-07-28. Each line of stdin is a question, and
// gets one line of stdout.
//
// {"list": "tools", "entries": [text...], "each": true}   what each client says of a list with these definitions, or of a list with each
//                                                        alone: {"v1": [null | error...], "v2", "modern"}
// {"command", "args", "env", "cwd", "until": [name...]}   what each client lists of a server; asked again until all these tools are
//                                                        there: {"v1": {"tools": [name...] | error, "prompts", ...}, "v2", "modern"}
import { createInterface } from 'node:readline';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

console.warn = () => {}; // Ajv warns of each format that it does not know

const who = { name: 'reader', version: '1' };
const makers = {
  v1: () => new ClientV1(who),
  v2: () => new ClientV2(who, { versionNegotiation: { mode: 'legacy' } }),
  modern: () => new ClientV2(who, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
};
const askers = {
  tools: (client) => client.listTools(),
  prompts: (client) => client.listPrompts(),
  resources: (client) => client.listResources(),
  resourceTemplates: (client) => client.listResourceTemplates(),
};

// A transport to a server that answers with one list.
class Given {
  constructor(modern) {
    this.more = modern ? '"resultType":"complete","ttlMs":0,"cacheScope":"private",' : '';
  }

  async start() {}

  async close() { this.onclose?.(); }

  async send({ id, method }) {
    if (id === undefined) return;
    const about = '"capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"given","version":"1"}';
    const result = {
      initialize: `{"protocolVersion":"2025-11-25",${about}}`,
      'server/discover': `{${this.more}"supportedVersions":["2026-07-28"],${about}}`,
    }[method] ?? `{${this.more}"${this.list}":[${this.entries.join(',')}]}`;
    const message = JSON.parse(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
    queueMicrotask(() => this.onmessage(message));
  }
}

async function connected(name) {
  const transport = new Given(name === 'modern');
  const client = makers[name]();
  await client.connect(transport);
  return { client, transport };
}

const given = {};
for (const name of Object.keys(makers)) given[name] = await connected(name);

async function verdict({ client, transport }, list, entries) {
  Object.assign(transport, { list, entries });
  try {
    const read = await askers[list](client);
    return read[list].length === entries.length ? null : `${read[list].length} of ${entries.length} were read`;
  } catch (error) {
    return String(error.message ?? error);
  }
}

async function whole(client, list) {
  const names = [];
  let cursor;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await { tools: (p) => client.listTools(p), prompts: (p) => client.listPrompts(p), resources: (p) => client.listResources(p),
      resourceTemplates: (p) => client.listResourceTemplates(p) }[list](params);
    names.push(...page[list].map((entry) => entry.uri ?? entry.uriTemplate ?? entry.name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return names;
}

async function lists(name, { until, ...server }) {
  const client = makers[name]();
  await client.connect(new (name === 'v1' ? StdioV1 : StdioV2)({ ...server, stderr: 'inherit' }));
  const report = {};
  for (const list of Object.keys(askers)) {
    try {
      do report[list] = await whole(client, list); while (list === 'tools' && !until.every((tool) => report.tools.includes(tool)));
    } catch (error) {
      report[list] = String(error.message ?? error);
    }
  }
  await client.close();
  return report;
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  const report = {};
  for (const name of Object.keys(makers)) {
    if (question.command !== undefined) report[name] = await lists(name, question);
    else if (!question.each) report[name] = [await verdict(await connected(name), question.list, question.entries)];
    else {
      report[name] = [];
      for (const entry of question.entries) report[name].push(await verdict(given[name], question.list, [entry]));
    }
  }
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
