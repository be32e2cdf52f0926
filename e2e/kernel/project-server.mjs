// A server on stdio whose instructions and tool are made of a file of its working directory, the project.
import { readFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

let text = 'no project';
try {
  text = readFileSync('project.txt', 'utf8');
} catch {
  // a folder that is no project
}
const server = new McpServer({ name: 'project', version: '1' }, { instructions: `Instructions: ${text}` });
server.registerTool('about', { description: `Description: ${text}` }, () => ({ content: [{ type: 'text', text }] }));
await server.connect(new StdioServerTransport());
