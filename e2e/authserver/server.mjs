// A real authorization server, oidc-provider, and an MCP server that takes its tokens and says whose they are.
//
// node server.mjs: prints "protected http://.../mcp" once both listen. LIFE is how many seconds an access token lasts.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { Provider } from 'oidc-provider';

const scope = 'tools';
const life = Number(process.env.LIFE ?? 3600);
let provider;
const auth = createServer((req, res) => provider.callback()(req, res)).listen(0, '127.0.0.1');
const web = createServer(serve).listen(0, '127.0.0.1');
await Promise.all([once(auth, 'listening'), once(web, 'listening')]);
const issuer = `http://127.0.0.1:${auth.address().port}`;
const base = `http://127.0.0.1:${web.address().port}`;
const resource = `${base}/mcp`;
const metadata = `${base}/.well-known/oauth-protected-resource/mcp`;

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
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, indicator) => {
        if (indicator !== resource) throw new Error(`what resource is ${indicator}`);
        return { scope, audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: life };
      },
    },
  },
});
const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));

async function serve(req, res) {
  const reply = (status, body, headers = {}) => res.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body && JSON.stringify(body));
  if (req.url === new URL(metadata).pathname) {
    return reply(200, { resource, authorization_servers: [issuer], scopes_supported: [scope] });
  }
  let who;
  try {
    const token = req.headers.authorization?.replace(/^Bearer /, '');
    who = (await jwtVerify(token, keys, { issuer, audience: resource })).payload;
  } catch (err) {
    console.log(`refused ${err.code}`);
    return reply(401, { error: 'invalid_token' }, { 'WWW-Authenticate': `Bearer resource_metadata="${metadata}", scope="${scope}"` });
  }
  if (req.method !== 'POST') return reply(405);
  let text = '';
  for await (const part of req) text += part;
  const { id, method } = JSON.parse(text);
  if (id === undefined) return reply(202);
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'protected', version: '1' } },
    'tools/list': { tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: who.sub }] },
  };
  reply(200, results[method] ? { jsonrpc: '2.0', id, result: results[method] } : { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
}

console.log(`protected ${resource}`);
