// keep.mjs in TypeScript, for tsx, ts-node, deno and bun.
import * as fs from 'node:fs'
import * as path from 'node:path'
import * as readline from 'node:readline'
import process from 'node:process'

type Arguments = { note: string, text?: string }
type Tool = { arguments: string[], run: (a: Arguments) => string }
const place: string = process.argv[process.argv.length - 1].split('=').pop() as string
const file = (note: string): string => fs.existsSync(place) && fs.statSync(place).isDirectory() ? path.join(place, note) : place
const tools: Record<string, Tool> = {
  get: { arguments: ['note'], run: ({ note }) => fs.readFileSync(file(note), 'utf8') },
  put: { arguments: ['note', 'text'], run: ({ note, text }) => { fs.appendFileSync(file(note), text as string); return 'kept' } },
}
readline.createInterface({ input: process.stdin }).on('line', (line: string) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  let result: object = {}
  if (method === 'initialize') {
    result = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'keep', version: '1.0.0' } }
  } else if (method === 'tools/list') {
    result = { tools: Object.keys(tools).map(name => ({ name, inputSchema: { type: 'object', properties: Object.fromEntries(tools[name].arguments.map(a => [a, { type: 'string' }])) } })) }
  } else if (method === 'tools/call') {
    let text = '', isError = false
    try { text = tools[params.name].run(params.arguments) } catch (e) { text = String((e as Error).message); isError = true }
    result = { content: [{ type: 'text', text }], isError }
  }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n')
}).on('close', () => process.exit())
