import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { readOptions } from '../src/command-line/command-line.js'
import { RunningBroker } from './running.js'

const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')

/** What differs from run to run, as the README says above its calls: ages in whole seconds, waits, dates, ids that the broker gave. */
const ages: ReadonlySet<string> = new Set(['uptime_in_secs', 'measuring_interval_in_secs'])
const wait = /^\d+\.\d{9}$/
const date = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const givenId = /^[0-9a-f]{24}$/

/** A call as the README shows it: `$ curl …` in a block marked `console`, the answer on the lines below. */
interface Call {
  readonly command: string
  readonly words: readonly string[]
  readonly answer: string
}

interface Request {
  /** As the README writes it; each stands for a broker of its own. */
  readonly port: string
  readonly verb: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
}

/** The words of a shell command, quotes taken off, and where the command ends: at the first line end outside of quotes. */
function shellWords(text: string): { readonly words: readonly string[]; readonly end: number } {
  const line = /^(?:'[^']*'|"[^"]*"|\\\n|[^'"\n])*/.exec(text)?.[0] ?? ''
  const words = [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^'"\s\\])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single: string | undefined, double: string | undefined) => {
      return single ?? double ?? ''
    }),
  )
  return { words, end: line.length }
}

function callsIn(text: string): readonly Call[] {
  const blocks = [...text.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block = '']) => block)
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((shown) => {
        const { words, end } = shellWords(shown)
        return { command: shown.slice(0, end), words, answer: shown.slice(end).trim() }
      }),
  )
}

/** What curl would send, for the flags that the README uses; any other one is an error. */
function requestOf([program, ...words]: readonly string[]): Request {
  if (program !== 'curl') throw new Error(`the README shows a call of '${program}', not of curl`)
  const headers: Record<string, string> = {}
  let [verb, url, body]: (string | undefined)[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    const value = (): string => words[++at] ?? ''
    if (word === '-s') continue
    if (word === '-X') verb = value()
    else if (word === '-d') body = value()
    else if (word === '-H') {
      const [name = '', ...rest] = value().split(':')
      headers[name] = rest.join(':').trim()
    } else if (word.startsWith('-'))
      throw new Error(`the README uses a flag of curl that its test does not know: ${word}`)
    else url = word
  }
  const [, port, path] = /^localhost:(\d+)(\/.*)$/.exec(url ?? '') ?? []
  if (port === undefined || path === undefined) throw new Error(`a call of the README goes elsewhere: ${url}`)
  return { port, verb: verb ?? (body === undefined ? 'GET' : 'POST'), path, headers, body }
}

/** An answer, with what differs from run to run replaced by its form. */
function comparable(text: string): unknown {
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

function compare(t: Test, { command, answer }: Call, text: string): void {
  if (answer === '') t.equal(text, '', command)
  else t.same(comparable(text), comparable(answer), command)
}

/** How long what the README shows may take to come about: notifications arrive a moment after their cause. */
const patience_ms = 10_000

/** The brokers of the README, each by the port that it has there; one is started when it is first called. */
class Brokers {
  readonly #started = new Map<string, RunningBroker>()
  readonly #own: readonly RunningBroker[]

  constructor(own: readonly RunningBroker[]) {
    this.#own = own
  }

  of(port: string): RunningBroker {
    const broker = this.#started.get(port) ?? this.#own[this.#started.size]
    if (!broker) throw new Error('the README calls more brokers than its test has started')
    this.#started.set(port, broker)
    return broker
  }

  async send({
    port,
    verb,
    path,
    headers,
    body,
  }: Request): Promise<{ readonly status: number; readonly text: string }> {
    const outwards = body?.replace(/localhost:(\d{4})/g, (_, named: string) => `localhost:${this.of(named).port}`)
    const { status, text } = await this.of(port).send(verb, path, outwards, headers)
    const named = [...this.#started].map(([written, broker]) => [String(broker.port), written] as const)
    const inwards = named.reduce(
      (sofar, [real, written]) => sofar.replaceAll(`localhost:${real}`, `localhost:${written}`),
      text,
    )
    return { status, text: inwards }
  }
}

function isAnswered({ answer }: Call, text: string): boolean {
  return answer === '' ? text === '' : JSON.stringify(comparable(text)) === JSON.stringify(comparable(answer))
}

test('every call of the README is answered as it says', async (t) => {
  const calls = callsIn(readme).map((call) => ({ call, request: requestOf(call.words) }))
  t.ok(calls.length > 10, 'the README has calls to try')
  const ports = new Set(calls.map(({ request }) => request.port))
  const brokers = new Brokers(await RunningBroker.startAll(t, ports.size))
  for (const { call, request } of calls) {
    const until = Date.now() + (request.verb === 'GET' ? patience_ms : 0)
    let reply = await brokers.send(request)
    while (!isAnswered(call, reply.text) && Date.now() < until) reply = await brokers.send(request)
    t.equal(reply.status, 200, call.command)
    compare(t, call, reply.text)
  }
})

test('the README names every flag, with its default and its environment variable', async (t) => {
  const help = readOptions(['-h'], {})
  if (help.kind !== 'print') throw new Error('-h gives no help')
  const flags = [...help.text.matchAll(/^ {2}-(\w+).*\n {8}(.*)$/gm)]
  t.ok(flags.length > 80, 'the help has flags')
  for (const [, name = '', meaning = ''] of flags) {
    t.match(readme, new RegExp(`\`-${name}\``), name)
    const row = readme.split('\n').find((line) => line.startsWith(`| \`-${name}\``))
    if (row === undefined) continue
    const [, standard = '', variable = ''] = /\(default (.*?)(?:, ((?:ORION|RIGEL)_\w+))?\)/.exec(meaning) ?? []
    t.ok(row.includes(`| ${standard} |`), `${name} is ${standard} by default`)
    t.ok(row.includes(variable), `${name} has the variable ${variable}`)
  }
})

test('what the README calls a file or folder of the project is there', async (t) => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const folders =
    'main|life|core|delivery|context|subscription|registration|outbox|coordinator|http|lmdb|mailbox|management|measure|ngsi1|partition|src|test|workers'
  const named = [...readme.matchAll(new RegExp(`\`((?:${folders})/[\\w./-]+)\``, 'g'))].map(([, path = '']) => path)
  t.ok(named.length > 20, 'the README names files')
  for (const path of new Set(named)) {
    t.ok(existsSync(`${root}${path}`) || existsSync(`${root}src/${path}`), path)
  }
})
