// Keeps notes in a folder, or all in one file. Where: KEEP, else the last argument, of --flag=value the value.
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'

const place = process.env.KEEP || process.argv.at(-1).split('=').at(-1)
const file = note => fs.existsSync(place) && fs.statSync(place).isDirectory() ? path.join(place, note) : place
export const tools = {
  get: { arguments: ['note'], run: ({ note }) => fs.readFileSync(file(note), 'utf8') },
  put: { arguments: ['note', 'text'], run: ({ note, text }) => (fs.appendFileSync(file(note), text), 'kept') },
}
const property = { type: 'string' }
readline.createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  let result = {}
  if (method === 'initialize') {
    result = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'keep', version: '1.0.0' } }
  } else if (method === 'tools/list') {
    result = { tools: Object.entries(tools).map(([name, tool]) => ({ name, inputSchema: { type: 'object', properties: Object.fromEntries(tool.arguments.map(a => [a, property])) } })) }
  } else if (method === 'tools/call') {
    let text, isError = false
    try { text = tools[params.name].run(params.arguments) } catch (e) { text = String(e.message); isError = true }
    result = { content: [{ type: 'text', text }], isError }
  }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n')
}).on('close', () => process.exit())
