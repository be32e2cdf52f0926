// A server of both eras, on stdio, with the extension for skills: what the official conformance suite wants of one. Beside them
// it has nothing. Its argument, if any, is the folder of its skills, and in their names.
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';

const at = process.argv[2] ? `skill://${process.argv[2]}/` : 'skill://';
const versions = ['2026-07-28', '2025-11-25'];
const capabilities = {
  tools: {},
  resources: {},
  extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } },
};
const serverInfo = { name: 'skills', version: '1' };
const manifest = (name) => `---\nname: ${name}\ndescription: What ${name} does\nlicense: MIT\n---\n\nRead references/more.md.\n`;
const names = ['git-workflow', 'pdf-processing', 'refunds'].map((name) => (process.argv[2] ? `${name}-of-${process.argv[2]}` : name));
const files = new Map(
  names.flatMap((name) => [
    [`${at}${name}/SKILL.md`, manifest(name)],
    [`${at}${name}/references/more.md`, `more of ${name} of ${at}`],
  ]),
);
const folders = names.flatMap((name) => [`${at}${name}`, `${at}${name}/references`]);

const entry = (name) => ({
  uri: `${at}${name}/SKILL.md`,
  frontmatter: { name, description: `What ${name} does`, license: 'MIT' },
  resources: [...files]
    .filter(([uri]) => uri.startsWith(`${at}${name}/`))
    .map(([uri, text]) => ({ uri, digest: 'sha256:' + createHash('sha256').update(text).digest('hex'), size: Buffer.byteLength(text) })),
});
const resource = (uri) => {
  if (folders.includes(uri)) return { uri, name: uri.slice(uri.lastIndexOf('/') + 1), mimeType: 'inode/directory' };
  const skill = names.find((name) => uri === `${at}${name}/SKILL.md`);
  return { uri, name: skill ?? uri.slice(uri.lastIndexOf('/') + 1), description: skill && `What ${skill} does`, mimeType: 'text/markdown' };
};
const kept = { ttlMs: 60000, cacheScope: 'public' };
const bad = (message) => ({ error: { code: -32602, message } });

function serve(method, params) {
  const skill = names.find((name) => params.uri === `${at}${name}/SKILL.md`);
  switch (method) {
    case 'initialize':
      return { result: { protocolVersion: '2025-11-25', capabilities, serverInfo } };
    case 'server/discover':
      return { result: { supportedVersions: versions, capabilities, serverInfo, ...kept } };
    case 'ping':
      return { result: {} };
    case 'tools/list':
      return { result: { tools: [], ...kept } };
    case 'resources/list':
      return { result: { resources: [...files.keys()].map(resource), ...kept } };
    case 'resources/templates/list':
      return { result: { resourceTemplates: [], ...kept } };
    case 'resources/read':
      if (!files.has(params.uri)) return bad(`no resource ${params.uri}`);
      return { result: { contents: [{ uri: params.uri, mimeType: 'text/markdown', text: files.get(params.uri) }], ...kept } };
    case 'skills/list': {
      const from = Number(params.cursor ?? 0); // one on a page
      const next = from + 1 < names.length ? { nextCursor: String(from + 1) } : {};
      return { result: { skills: [entry(names[from])], ...next, ...kept } };
    }
    case 'skills/get':
      return skill ? { result: { skill: entry(skill), ...kept } } : bad(`no skill ${params.uri}`);
    case 'resources/directory/read': {
      if (!folders.includes(params.uri)) return bad(`${params.uri} is no directory`);
      const below = [...files.keys(), ...folders].filter((uri) => uri.slice(0, uri.lastIndexOf('/')) === params.uri);
      return { result: { resources: below.map(resource) } };
    }
    default:
      return { error: { code: -32601, message: `no method ${method}` } };
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const answer = serve(method, params ?? {});
  if (answer.result && params?._meta?.['io.modelcontextprotocol/protocolVersion']) answer.result = { resultType: 'complete', ...answer.result };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\n');
});
