// A server that lists what it is given, byte for byte, in both eras of the protocol.
//
// lists.mjs FILE    FILE is JSON: {"tools": [text...], "prompts", "resources", "resourceTemplates"}; each text is one definition, raw
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const given = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const serverInfo = { name: 'lists', version: '1' };
const capabilities = { tools: {}, prompts: {}, resources: {} };
const members = {
  'tools/list': 'tools', 'prompts/list': 'prompts', 'resources/list': 'resources', 'resources/templates/list': 'resourceTemplates',
};

function result({ method, params }) {
  const modern = params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined;
  const more = modern ? '"resultType":"complete","ttlMs":0,"cacheScope":"private",' : '';
  if (method === 'initialize') return JSON.stringify({ protocolVersion: '2025-11-25', capabilities, serverInfo });
  if (method === 'server/discover') {
    return `{${more}${JSON.stringify({ supportedVersions: ['2026-07-28'], capabilities, serverInfo }).slice(1)}`;
  }
  if (method in members) return `{${more}"${members[method]}":[${(given[members[method]] ?? []).join(',')}]}`;
  return `{${more}"content":[{"type":"text","text":"ok"}]}`;
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id === undefined) continue;
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${result(message)}}\n`);
}
