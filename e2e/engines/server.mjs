// A server with two SQL engines that do what they are told: SQLite, which is part of Node, and DuckDB, which is a package that
// only the long series installs. It speaks raw JSON-RPC. Called with --make DIR it puts databases there, with DIR's secret in
// them, and ends.
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'

const tools = [{
  name: 'sql', description: 'Runs statements, each after the other, and says what each of them gave.',
  inputSchema: {
    type: 'object', required: ['engine', 'statements'],
    properties: { engine: { enum: ['sqlite', 'duckdb'] }, database: { type: 'string' }, statements: { type: 'array', items: { type: 'string' } } },
  },
}]

const said = (value) => JSON.stringify(value, (_, v) => typeof v === 'bigint' ? String(v) : v instanceof Uint8Array ? Buffer.from(v).toString() : v)

async function sqlite(database, statements) {
  const db = new DatabaseSync(database, { allowExtension: true })
  db.enableLoadExtension(true)
  try {
    return statements.map((sql) => attempt(() => said(db.prepare(sql).all())))
  } finally {
    db.close()
  }
}

function attempt(f) {
  try {
    return f()
  } catch (e) {
    return 'error: ' + e.message
  }
}

async function duckdb(database, statements) {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(database, { autoinstall_known_extensions: 'false' }) // nothing from the network
  const connection = await instance.connect()
  const all = []
  for (const sql of statements) {
    try {
      all.push(said((await connection.runAndReadAll(sql)).getRowsJson()))
    } catch (e) {
      all.push('error: ' + e.message)
    }
  }
  connection.closeSync()
  instance.closeSync()
  return all
}

const engines = { sqlite, duckdb }

async function call({ engine, database = ':memory:', statements }) {
  try {
    return (await engines[engine](database, statements)).join('\n')
  } catch (e) {
    return 'error: ' + e.message
  }
}

async function answer({ method, params }) {
  switch (method) {
    case 'initialize':
      return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'engines', version: '1' } }
    case 'ping':
      return {}
    case 'tools/list':
      return { tools }
    case 'tools/call':
      return { content: [{ type: 'text', text: await call(params.arguments) }] }
  }
}

if (process.argv[2] === '--make') {
  const [, , , dir, secret, ...made] = process.argv
  for (const engine of made) {
    const lines = [`CREATE TABLE t(a VARCHAR)`, `INSERT INTO t VALUES ('${secret}')`]
    if (engine === 'duckdb') lines.push(`COPY t TO '${dir}/secret.parquet'`, `COPY t TO '${dir}/secret.csv'`, `COPY t TO '${dir}/secret.json'`)
    const answers = await engines[engine](`${dir}/secret.${engine}`, lines)
    if (answers.some((a) => a.startsWith('error'))) throw new Error(answers.join('\n'))
  }
} else {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line)
    if (request.id === undefined || !request.method) continue
    const result = await answer(request)
    const rest = result ? { result } : { error: { code: -32601, message: 'no such method' } }
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: request.id, ...rest }) + '\n')
  }
}
