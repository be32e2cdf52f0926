// A real authorization server, oidc-provider, and an MCP server that takes its tokens and says whose they are.
//
// node server.mjs: prints "protected http://.../mcp" once both listen. LIFE is how many seconds an access token lasts.
// A registered client gets a token for itself by client_credentials, and a token for one server in exchange for another client's own by
// token exchange (RFC 8693).
// Beside /mcp there is a server with a fault: /mixed/mcp names an authorization server that sends people to the login page of the other.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { errors, Provider } from 'oidc-provider';

const scope = 'tools';
const life = Number(process.env.LIFE ?? 3600);
let provider;
const auth = createServer((req, res) => provider.callback()(req, res)).listen(0, '127.0.0.1');
const web = createServer(serve).listen(0, '127.0.0.1');
const mixed = createServer(mixUp).listen(0, '127.0.0.1');
await Promise.all([auth, web, mixed].map((s) => once(s, 'listening')));
const issuer = `http://127.0.0.1:${auth.address().port}`;
const base = `http://127.0.0.1:${web.address().port}`;
const wellKnown = '/.well-known/oauth-protected-resource';
const servers = {
  '/mcp': { issuer },
  '/mixed/mcp': { issuer: `http://127.0.0.1:${mixed.address().port}` },
};

provider = new Provider(issuer, {
  cookies: { keys: ['of the tests'] },
  scopes: ['openid', 'offline_access', scope],
  clients: [],
  clientAuthMethods: ['none', 'client_secret_basic'],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: { AccessToken: life, RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 3600, DeviceCode: 600, AuthorizationCode: 60, IdToken: 60 },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    deviceFlow: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, indicator) => infoOf(indicator),
    },
  },
});
provider.registerGrantType('urn:ietf:params:oauth:grant-type:token-exchange', exchange, ['subject_token', 'subject_token_type', 'requested_token_type', 'resource', 'scope']);
provider.on('grant.success', (ctx) => console.log(`granted by ${ctx.oidc.params.grant_type}`));
const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));

function infoOf(indicator) {
  if (!servers[new URL(indicator).pathname]) throw new Error(`what resource is ${indicator}`);
  return { scope, audience: indicator, accessTokenFormat: 'jwt', accessTokenTTL: life };
}

// exchange gives a token for one server in exchange for someone's token for the hub.
async function exchange(ctx) {
  const { subject_token: subject, subject_token_type: kind, resource, scope: asked } = ctx.oidc.params;
  const access = 'urn:ietf:params:oauth:token-type:access_token';
  let who;
  try {
    if (kind !== access) throw new Error(kind);
    who = (await jwtVerify(subject, keys, { issuer, audience: 'https://hub.example/mcp' })).payload.sub;
  } catch {
    throw new errors.InvalidGrant('the subject token is not good');
  }
  const token = new provider.AccessToken({ accountId: who, client: ctx.oidc.client, gty: 'token_exchange', scope: asked });
  token.resourceServer = new provider.ResourceServer(resource, infoOf(resource));
  ctx.body = { access_token: await token.save(), issued_token_type: access, token_type: token.tokenType, expires_in: token.expiration, scope: asked };
  console.log(`exchanged ${who} for ${resource}`);
}

// mixUp is an authorization server of its own, whose page for people sends them on to that of the other one: it hopes for a code
// of that.
async function mixUp(req, res) {
  const own = servers['/mixed/mcp'].issuer;
  const { pathname, search } = new URL(req.url, own);
  const json = { 'Content-Type': 'application/json' };
  if (pathname === '/auth') return res.writeHead(302, { Location: `${issuer}/auth${search}` }).end();
  if (pathname === '/reg') {
    const there = await fetch(`${issuer}/reg`, { method: 'POST', headers: json, body: req, duplex: 'half' });
    return res.writeHead(there.status, json).end(await there.text());
  }
  if (pathname === '/.well-known/oauth-authorization-server') {
    return res.writeHead(200, json).end(JSON.stringify({
      issuer: own, authorization_endpoint: `${own}/auth`, registration_endpoint: `${own}/reg`, token_endpoint: `${own}/token`,
      code_challenge_methods_supported: ['S256'], response_types_supported: ['code'],
    }));
  }
  console.log(`mixed up: ${req.url}`);
  return res.writeHead(404).end();
}

let waited = false; // a call of "expires" has waited for the end of its token
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function serve(req, res) {
  const reply = (status, body, headers = {}) => res.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body && JSON.stringify(body));
  const path = req.url.startsWith(wellKnown) ? req.url.slice(wellKnown.length) : req.url;
  const server = servers[path];
  if (!server) return reply(404);
  const resource = `${base}${path}`;
  if (path !== req.url) {
    return reply(200, { resource, authorization_servers: [server.issuer], scopes_supported: [scope] });
  }
  const refuse = () => reply(401, { error: 'invalid_token' }, { 'WWW-Authenticate': `Bearer resource_metadata="${base}${wellKnown}${path}", scope="${scope}"` });
  let who;
  try {
    const token = req.headers.authorization?.replace(/^Bearer /, '');
    who = (await jwtVerify(token, keys, { issuer, audience: resource })).payload;
  } catch (err) {
    console.log(`refused ${err.code}`);
    return refuse();
  }
  if (req.method !== 'POST') return reply(405);
  let text = '';
  for await (const part of req) text += part;
  const { id, method, params } = JSON.parse(text);
  if (id === undefined) return reply(202);
  if (params?.name === 'expires' && !waited) {
    waited = true;
    await sleep(who.exp * 1000 - Date.now() + 100);
    console.log('refused amid a call');
    return refuse();
  }
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'protected', version: '1' } },
    'tools/list': { tools: ['whoami', 'expires'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
    'tools/call': { content: [{ type: 'text', text: who.sub }] },
  };
  reply(200, results[method] ? { jsonrpc: '2.0', id, result: results[method] } : { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
}

console.log(`protected ${base}/mcp`);
