// The official TypeScript clients, v1 and v2, call tools of a server on stdio, which may be a hub.
//
// in:  {"command", "args", "env", "cwd", "calls": [{"name", "arguments"}]}
// out: {"v1": [{"text", "isError"} | {"error"}], "v2": ...}
import { text } from 'node:stream/consumers';
import { Client as V1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as V1Stdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as V2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as V2Stdio } from '@modelcontextprotocol/client/stdio';

const { calls, ...server } = JSON.parse(await text(process.stdin));

async function results(Client, Stdio) {
  const client = new Client({ name: 'tolerance', version: '1' }, { capabilities: {} });
  await client.connect(new Stdio({ ...server, stderr: 'inherit' }));
  const all = [];
  for (const call of calls) {
    try {
      const { content, isError = false } = await client.callTool(call);
      all.push({ text: content[0].text, isError });
    } catch (error) {
      all.push({ error: error.message });
    }
  }
  await client.close();
  return all;
}

process.stdout.write(JSON.stringify({ v1: await results(V1, V1Stdio), v2: await results(V2, V2Stdio) }));
