// A server of the official TypeScript SDK that offers extensions, on stdio: skills, whose methods no version of the
// protocol knows, and an app with a tool for it. What it is told beside requests comes back from skills/heard.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

const name = process.argv[2] ?? 'extended';
const page = 'ui://view/main.html';
const heard = [];

const server = new Server(
  { name, version: '1' },
  {
    capabilities: {
      tools: {},
      resources: {},
      extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true }, 'io.modelcontextprotocol/ui': {} },
      experimental: { 'com.example/odd': { depth: [1, { two: 2.5 }] } },
    },
  },
);
const ui = (more) => ({ ui: { resourceUri: page, ...more } });
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [
    { name: 'view', description: 'shows it', inputSchema: { type: 'object' }, _meta: ui() },
    { name: `refresh-${name}`, description: 'for the app', inputSchema: { type: 'object' }, _meta: ui({ visibility: ['app'] }) },
  ],
}));
server.setRequestHandler(CallToolRequestSchema, (request) => ({
  content: [{ type: 'text', text: `${name}: ${request.params.name}` }],
  _meta: ui(),
}));
server.setRequestHandler(ListResourcesRequestSchema, () => ({
  resources: [{ uri: page, name: 'main', mimeType: 'text/html;profile=mcp-app' }],
}));
server.setRequestHandler(ReadResourceRequestSchema, (request) => ({
  contents: [{ uri: request.params.uri, mimeType: 'text/html;profile=mcp-app', text: `<title>${name}</title>` }],
}));
server.fallbackRequestHandler = async ({ method, params }) => {
  switch (method) {
    case 'skills/list':
      return { skills: [{ uri: 'skill://a/SKILL.md', frontmatter: { name: 'a', big: 1e21 } }], ttlMs: 5, cacheScope: 'public' };
    case 'skills/own':
      return { big: 1e21, asked: params };
    case 'skills/get':
      if (params?.uri === 'skill://gone/SKILL.md') throw new McpError(ErrorCode.InvalidParams, 'unknown skill', { uri: params.uri });
      return { skill: { uri: params?.uri }, asked: params };
    case 'skills/heard':
      return { heard };
    default:
      throw new McpError(ErrorCode.MethodNotFound, `no ${method}`);
  }
};
server.fallbackNotificationHandler = async (notification) => {
  heard.push({ method: notification.method, params: notification.params });
};
await server.connect(new StdioServerTransport());
