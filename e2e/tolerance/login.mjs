// The official TypeScript clients, v1 and v2, log in at servers and call a tool of each; or call it through a hub.
//
// in:  {"direct": [{name, url, redirect, client}]} | {"hub": {command, args, env, cwd}, "calls": [name]}
// out: {"direct": [{"v1": {"text"} | {"error"}, "v2": ...}]} | {"hub": [{"text"} | {"error"}]}
//
// client is what a person has registered; without it the client registers itself. Each logs in as an application would: it opens
// the page, and takes the code from the address to which the browser is sent.
import { text } from 'node:stream/consumers';
import * as v1 from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as v1HTTP } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v2 from '@modelcontextprotocol/client';

const sdks = {
  v1: { Client: v1.Client, HTTP: v1HTTP },
  v2: { Client: v2.Client, HTTP: v2.StreamableHTTPClientTransport },
};

// provider keeps in memory what the SDK hands it.
class Provider {
  constructor({ redirect, client }) {
    this.redirectUrl = redirect;
    this.client = client;
    this.clientMetadata = { client_name: 'direct', redirect_uris: [redirect], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] };
  }
  clientInformation() { return this.client; }
  saveClientInformation(made) { this.client = made; }
  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; }
  redirectToAuthorization(page) { this.page = page; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
}

// visit opens the page, and gives what the browser would bring back.
async function visit(page, redirect) {
  const answer = await fetch(page, { redirect: 'manual' });
  const back = answer.headers.get('location');
  if (!back?.startsWith(redirect)) throw new Error(`the page answers ${answer.status} ${await answer.text()}`);
  return new URL(back).searchParams;
}

async function direct({ Client, HTTP }, server) {
  const authProvider = new Provider(server);
  const connect = async () => {
    const client = new Client({ name: 'direct', version: '1' }, { capabilities: {} });
    const transport = new HTTP(new URL(server.url), { authProvider });
    try {
      await client.connect(transport);
    } catch (error) {
      return { transport, error };
    }
    return { client, transport };
  };
  let at = await connect();
  if (at.error) {
    if (!authProvider.page) throw at.error;
    const answer = await visit(authProvider.page, server.redirect);
    if (answer.get('error')) throw new Error(answer.get('error'));
    await at.transport.finishAuth(Client === v2.Client ? answer : answer.get('code'));
    at = await connect();
    if (at.error) throw at.error;
  }
  try {
    const { content } = await at.client.callTool({ name: 'whoami', arguments: {} });
    return content[0].text;
  } finally {
    await at.client.close();
  }
}

async function attempt(what) {
  try {
    return { text: await what() };
  } catch (error) {
    return { error: String(error?.message ?? error) };
  }
}

async function throughHub({ hub, calls }) {
  const client = new v1.Client({ name: 'through the hub', version: '1' }, { capabilities: {} });
  await client.connect(new StdioClientTransport(hub));
  const results = [];
  for (const name of calls) {
    results.push(
      await attempt(async () => {
        const { content, isError } = await client.callTool({ name: 'call-tool', arguments: { serverName: name, toolName: 'whoami' } });
        if (isError) throw new Error(content[0].text);
        return content[0].text;
      }),
    );
  }
  await client.close();
  return results;
}

const asked = JSON.parse(await text(process.stdin));
const out = {};
if (asked.direct) {
  out.direct = [];
  for (const server of asked.direct) {
    out.direct.push({ v1: await attempt(() => direct(sdks.v1, server)), v2: await attempt(() => direct(sdks.v2, server)) });
  }
}
if (asked.hub) out.hub = await throughHub(asked);
console.log(JSON.stringify(out));
process.exit(0);
