import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { readOptions } from '../src/command-line/command-line.js'
import { type Reply, RunningBroker } from './running.js'

const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')

/** What differs from run to run, as the README says above its calls: ages in whole seconds, and waits. */
const ages: ReadonlySet<string> = new Set(['uptime_in_secs', 'measuring_interval_in_secs'])
const wait = /^\d+\.\d{9}$/

/** A call as the README shows it: `$ curl …` in a block marked `console`, the answer on the lines below. */
interface Call {
  readonly command: string
  readonly words: readonly string[]
  readonly answer: string
}

interface Request {
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
  const path = url?.replace(/^localhost:1026(?=\/)/, '')
  if (path === undefined || path === url) throw new Error(`a call of the README goes elsewhere: ${url}`)
  return { verb: verb ?? (body === undefined ? 'GET' : 'POST'), path, headers, body }
}

/** An answer, with what differs from run to run replaced by its form. */
function comparable(text: string): unknown {
  // Waits that are numbers have nine digits in their text, which parsing would lose.
  return JSON.parse(text.replace(/: ?(\d+\.\d{9})(?=[\s,}])/g, ':"number $1"'), (name, value: unknown) => {
    if (typeof value === 'number' && ages.has(name)) return Number.isInteger(value) ? 'an age' : value
    if (typeof value !== 'string') return value
    if (wait.test(value)) return 'a wait'
    return wait.test(value.replace('number ', '')) ? 'a wait as a number' : value
  })
}

function compare(t: Test, { command, answer }: Call, { text }: Reply): void {
  if (answer === '') t.equal(text, '', command)
  else t.same(comparable(text), comparable(answer), command)
}

test('every call of the quick start is answered as the README says', async (t) => {
  const calls = callsIn(readme)
  t.ok(calls.length > 10, 'the README has calls to try')
  const broker = await RunningBroker.start(t)
  for (const call of calls) {
    const { verb, path, headers, body } = requestOf(call.words)
    const reply = await broker.send(verb, path, body, headers)
    t.equal(reply.status, 200, call.command)
    compare(t, call, reply)
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
    'main|life|core|context|coordinator|http|lmdb|mailbox|management|measure|ngsi1|partition|src|test|workers'
  const named = [...readme.matchAll(new RegExp(`\`((?:${folders})/[\\w./-]+)\``, 'g'))].map(([, path = '']) => path)
  t.ok(named.length > 20, 'the README names files')
  for (const path of new Set(named)) {
    t.ok(existsSync(`${root}${path}`) || existsSync(`${root}src/${path}`), path)
  }
})
