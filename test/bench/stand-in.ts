import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { items, member } from '../../bench/ngsi.js'

// A broker of a few lines for the tests of the benchmarks: started like the real one, it does what they ask for over
// HTTP and keeps every acknowledged element in a file. With -fault it does one thing wrong that they have to notice.

type Fault = 'none' | 'forgets' | 'tears' | 'refuses' | 'fails'

const ok = { code: '200', reasonPhrase: 'OK' }
const unknown = { code: '404', reasonPhrase: 'No context element found' }

const { values } = parseArgs({
  args: process.argv.slice(2).map((word) => word.replace(/^-(?=[a-zA-Z])/, '--')),
  options: {
    port: { type: 'string', default: '0' },
    dbPath: { type: 'string', default: '.' },
    mutexTimeStat: { type: 'boolean', default: false },
    fault: { type: 'string', default: 'none' },
  },
})
const fault = values.fault as Fault

mkdirSync(values.dbPath, { recursive: true })
const file = join(values.dbPath, 'elements.jsonl')
const entities = new Map<string, Map<string, unknown>>()
for (const line of wholeLines()) apply(JSON.parse(line))

const server = createServer(async (request, response) => {
  const content = contentOf(`${request.method} ${request.url}`, await bodyOf(request))
  response.writeHead(content === undefined ? 503 : 200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(content))
})
server.listen(Number(values.port), '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))

/** The lines of the file. What a kill left of one that was being written, which nobody was told of, is taken from it. */
function wholeLines(): readonly string[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''))
  return lines
}

function contentOf(target: string, body: string): object | undefined {
  if (target === 'GET /version') return { orion: { version: 'stand-in' } }
  if (target === 'DELETE /statistics') return { message: 'All statistics counter reset' }
  if (target === 'GET /statistics') return statistics()
  if (target === 'POST /v1/updateContext') return update(JSON.parse(body))
  return found(target.slice('GET /v1/contextEntities/'.length))
}

function statistics(): object {
  if (!values.mutexTimeStat) return {}
  return {
    requestSemaphoreWaitingTime: '0.000000000',
    dbConnectionPoolWaitingTime: '0.000000230',
    transactionSemaphoreWaitingTime: '0.000001050',
  }
}

function update(request: unknown): object | undefined {
  const updateAction = member(request, 'updateAction')
  if (updateAction === 'UPDATE' && fault === 'fails') return undefined
  if (updateAction === 'UPDATE' && fault === 'refuses') return { errorCode: unknown }
  const elements = items(member(request, 'contextElements')).map((element) => ({ updateAction, ...Object(element) }))
  if (updateAction !== 'UPDATE' || fault !== 'forgets') {
    appendFileSync(file, elements.map((element) => `${JSON.stringify(element)}\n`).join(''))
  }
  return {
    contextResponses: elements.map((element) => {
      const known = updateAction !== 'UPDATE' || entities.has(String(member(element, 'id')))
      if (known) apply(element)
      return { contextElement: {}, statusCode: known ? ok : unknown }
    }),
  }
}

function apply(element: unknown): void {
  const id = String(member(element, 'id'))
  if (member(element, 'updateAction') === 'DELETE') {
    entities.delete(id)
    return
  }
  const held = entities.get(id) ?? new Map<string, unknown>()
  entities.set(id, held)
  const given = items(member(element, 'attributes'))
  for (const attribute of fault === 'tears' && held.size > 0 ? given.slice(1) : given) {
    const name = String(member(attribute, 'name'))
    const metadata = new Map(
      [...items(member(held.get(name), 'metadatas')), ...items(member(attribute, 'metadatas'))].map((metadatum) => [
        member(metadatum, 'name'),
        metadatum,
      ]),
    )
    held.set(name, { ...Object(attribute), metadatas: [...metadata.values()] })
  }
}

function found(id: string): object {
  const held = entities.get(id)
  if (held === undefined) return { contextElement: { id }, statusCode: unknown }
  return { contextElement: { id, attributes: [...held.values()] }, statusCode: ok }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const piece of request.setEncoding('utf8')) body += piece
  return body
}
