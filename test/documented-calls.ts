import type { Test } from 'tap'
import { type DocumentedServer, startServers } from './documented-servers.js'
import { EventReader } from './event-reader.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

/** What differs from run to run: ages in whole seconds, waits, dates, and ids that the broker gave. */
const ages: ReadonlySet<string> = new Set(['uptime_in_secs', 'measuring_interval_in_secs'])
const wait = /^\d+\.\d{9}$/
const date = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const givenId = /^[0-9a-f]{24}$/
const id = /[0-9a-f]{24}/g

/** A call as a page shows it: `$ curl …` in a block marked `console`, the response on the lines below. */
interface Call {
  readonly command: string
  readonly words: readonly string[]
  readonly response: string
}

interface Request {
  /** As the page writes it; each stands for a broker of its own. */
  readonly port: string
  readonly verb: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
  /** What curl is to print after the body, with the names of headers: `%header{location}`. */
  readonly printed: string
  /** Whether the response goes on and is shown as it comes: `curl -N`. */
  readonly isStream: boolean
}

/**
 * Plays the calls of a page in their order and compares every response. Each port that the page names stands for a
 * broker on an empty data folder. What servers are to print, and streams to show (`data: …`), stands in blocks marked `text`. Returns the number of calls.
 */
export async function playCalls(t: Test, page: string): Promise<number> {
  const calls = callsIn(page).map((call) => ({ call, request: requestOf(call.words) }))
  const ports = [...new Set(calls.map(({ request }) => request.port))]
  const started = await RunningBroker.startAll(t, ports.length)
  const brokers = new Map(started.map((broker, at) => [ports[at] ?? '', broker]))
  const servers = await startServers(t, page)
  const streams: Pick<DocumentedServer, 'prints'>[] = []
  const ids = new Map<string, string>()
  for (const { call, request: written } of calls) {
    const request = { ...written, path: written.path.replace(id, (shown) => ids.get(shown) ?? shown) }
    if (request.isStream) {
      streams.push(await opened(t, brokers, request))
      continue
    }
    let shown = ''
    const reply = await until(
      async () => {
        const reply = await send(brokers, servers, request)
        shown = reply.text
        return (request.verb !== 'GET' || isExpected(call, shown)) && reply
      },
      () => `${call.command} shows ${call.response}; it was ${shown}`,
    )
    t.ok(reply.status >= 200 && reply.status < 300, `${reply.status}: ${call.command}`)
    if (call.response === '') t.equal(reply.text, '', call.command)
    else t.same(comparable(reply.text), comparable(call.response), call.command)
    const given = reply.text.match(id) ?? []
    for (const [at, written] of (call.response.match(id) ?? []).entries()) ids.set(written, given[at] ?? written)
  }
  for (const [, shown = ''] of page.matchAll(/^```text\n(.*?)\n```$/gms)) {
    for (const shower of shown.startsWith('data: ') ? streams : servers) await shower.prints(shown)
  }
  return calls.length
}

/** Listens to a stream of events until the test ends. */
async function opened(
  t: Test,
  brokers: ReadonlyMap<string, RunningBroker>,
  { port, path }: Request,
): Promise<Pick<DocumentedServer, 'prints'>> {
  const stream = await EventReader.open(`http://localhost:${brokers.get(port)?.port}${path}`)
  t.teardown(() => stream.close())
  t.equal(stream.status, 200, `curl -N localhost:${port}${path}`)
  const lines: string[] = []
  const read = async (): Promise<void> => {
    for await (const { data } of stream.all()) lines.push(`data: ${data}`.replace(id, 'an id'))
  }
  // The test ends the stream, which is no failure then.
  read().catch((fault: unknown) => lines.push(String(fault)))
  return {
    prints: async (shown) => {
      const expected = shown.replace(id, 'an id')
      await until(
        () => lines.includes(expected),
        () => `the stream of ${path} shows ${expected}; it has shown ${lines.join('\n')}`,
      )
    },
  }
}

function callsIn(page: string): readonly Call[] {
  const blocks = [...page.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block = '']) => block)
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((shown) => {
        const { words, end } = shellWords(shown)
        return { command: shown.slice(0, end), words, response: shown.slice(end).trim() }
      }),
  )
}

/** The words of a shell command without their quotes, and where the command ends: at the first line end outside of quotes. */
function shellWords(text: string): { readonly words: readonly string[]; readonly end: number } {
  const line = /^(?:'[^']*'|"[^"]*"|\\\n|[^'"\n])*/.exec(text)?.[0] ?? ''
  const words = [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^'"\s\\])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single: string | undefined, double: string | undefined) => {
      return single ?? double ?? ''
    }),
  )
  return { words, end: line.length }
}

/** What curl would send, for the options that the pages use; any other one is an error. */
function requestOf([program, ...words]: readonly string[]): Request {
  if (program !== 'curl') throw new Error(`a page shows a call of '${program}', not of curl`)
  const headers: Record<string, string> = {}
  let [verb, url, body]: (string | undefined)[] = []
  let printed = ''
  let isStream = false
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    const value = (): string => words[++at] ?? ''
    if (word === '-s') continue
    if (word === '-N') isStream = true
    else if (word === '-X') verb = value()
    else if (word === '-w') printed = value()
    else if (word === '-d') body = value()
    else if (word === '-H') {
      const [name = '', ...rest] = value().split(':')
      headers[name] = rest.join(':').trim()
    } else if (word.startsWith('-'))
      throw new Error(`a page uses an option of curl that its test does not know: ${word}`)
    else url = word
  }
  const [, port, path] = /^localhost:(\d+)(\/.*)$/.exec(url ?? '') ?? []
  if (port === undefined || path === undefined) throw new Error(`a call of a page goes elsewhere: ${url}`)
  return { port, verb: verb ?? (body === undefined ? 'GET' : 'POST'), path, headers, body, printed, isStream }
}

/** Sends a request with the real ports in its body, and returns the response with those of the page. */
async function send(
  brokers: ReadonlyMap<string, RunningBroker>,
  servers: readonly DocumentedServer[],
  { port, verb, path, headers, body, printed }: Request,
): Promise<{ readonly status: number; readonly text: string }> {
  const brokerAt = (named: string): RunningBroker => {
    const broker = brokers.get(named)
    if (broker === undefined) throw new Error(`no call of the page goes to port ${named}`)
    return broker
  }
  const serverAt = (named: string): { readonly port: number } =>
    servers.find((server) => server.named === named) ?? brokerAt(named)
  const outwards = body?.replace(/localhost:(\d{4})/g, (_, named: string) => `localhost:${serverAt(named).port}`)
  const { status, text: sent, headers: given } = await brokerAt(port).send(verb, path, outwards, headers)
  const added = printed.replaceAll('\\n', '\n').replace(/%header\{(.*?)\}/g, (_, name: string) => given.get(name) ?? '')
  const text = `${sent}${added}`.trim()
  const named = [...servers, ...Array.from(brokers, ([named, { port }]) => ({ named, port }))]
  const inwards = named.reduce(
    (sofar, { named, port }) => sofar.replaceAll(`localhost:${port}`, `localhost:${named}`),
    text,
  )
  return { status, text: inwards }
}

function isExpected({ response }: Call, text: string): boolean {
  if (response === '') return text === ''
  return JSON.stringify(comparable(text)) === JSON.stringify(comparable(response))
}

/** A response, with what differs from run to run replaced by its form. */
function comparable(text: string): unknown {
  try {
    return comparableJson(text)
  } catch {
    return text.replace(id, 'an id') // What curl prints besides a body is no JSON.
  }
}

function comparableJson(text: string): unknown {
  // Waits that are numbers have nine digits in their text, which parsing would lose.
  return JSON.parse(text.replace(/: ?(\d+\.\d{9})(?=[\s,}])/g, ':"number $1"'), (name, value: unknown) => {
    if (typeof value === 'number' && ages.has(name)) return Number.isInteger(value) ? 'an age' : value
    if (typeof value !== 'string') return value
    if (wait.test(value)) return 'a wait'
    if (date.test(value)) return 'a date'
    if (givenId.test(value)) return 'an id'
    return wait.test(value.replace('number ', '')) ? 'a wait as a number' : value
  })
}
