// A server on stdio that reads more than its schemas say, as servers with coercion in zod, with pydantic or in PHP do. Each tool answers
// {"sent": what came, "read": what it made of that}.
//
// argv: the default of the argument out_dir
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const decoded = (v) => {
  if (typeof v !== 'string') return v;
  try {
    return JSON.parse(v);
  } catch {
    return v;
  }
};
const absent = (v) => v ?? undefined;
const list = (of) => z.preprocess((v) => decoded(absent(v)), z.array(of).optional());
const integer = z.preprocess(absent, z.coerce.number().int().optional());
const number = z.preprocess(absent, z.coerce.number().optional());
const flag = z.preprocess((v) => (v === 'true' ? true : v === 'false' ? false : absent(v)), z.boolean().optional());
const text = z.preprocess(absent, z.string().optional());
const word = z.preprocess(absent, z.enum(['fast', 'slow']).optional());
const inner = z.object({ target_path: text, depth: integer, note: text });
const options = z.preprocess((v) => decoded(absent(v)), inner.optional());
const outDir = z.preprocess(absent, z.string().default(process.argv[2]));

const type = (name, more = {}) => ({ type: name, ...more });
const object = (properties, more = {}) => ({ type: 'object', properties, additionalProperties: false, ...more });
const insideOptions = object({ target_path: type('string'), depth: type('integer'), note: type('string') });

// What a tool reads, and what it says that it reads.
const tools = {
  find: [
    z.object({ query: z.string(), limit: integer, score: number, deep: flag, mode: word, tags: list(z.string()), ids: list(z.coerce.number().int()) }),
    object({ query: type('string'), limit: type('integer', { minimum: 0 }), score: type('number'), deep: type('boolean'), mode: type('string', { enum: ['fast', 'slow'] }),
      tags: type('array', { items: type('string') }), ids: type('array', { items: type('integer') }) }, { required: ['query'] }),
  ],
  show: [z.object({ paths: list(z.string()), title: text }), object({ paths: type('array', { items: type('string') }), title: type('string') })],
  change: [
    z.object({ options, steps: list(inner) }),
    object({ options: insideOptions, steps: type('array', { items: insideOptions }) }),
  ],
  either: [
    z.object({ value: z.union([z.coerce.number(), z.string()]).optional(), kind: z.preprocess((v) => Number(v), z.literal(7)).optional() }),
    object({ value: { anyOf: [type('integer'), type('null'), type('array', { items: type('string') })] }, kind: { const: 7 } }),
  ],
  save: [z.object({ out_dir: outDir, n: integer }), object({ out_dir: type('string', { default: process.argv[2] }), n: type('integer') })],
  open_ended: [z.looseObject({ limit: integer, file_path: text }), object({ limit: type('integer'), file_path: type('string') })],
  anything: [z.any(), object({ n: type('integer') })],
};

const server = new Server({ name: 'lenient', version: '1' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.entries(tools).map(([name, [, inputSchema]]) => ({ name, inputSchema })),
}));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  const read = tools[params.name][0].safeParse(params.arguments);
  const said = read.success ? { sent: params.arguments, read: read.data } : { refused: read.error.issues };
  return { content: [{ type: 'text', text: JSON.stringify(said) }], isError: !read.success };
});
await server.connect(new StdioServerTransport());
