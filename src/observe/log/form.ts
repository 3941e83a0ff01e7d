import pino from 'pino'
import type { Facts, Line, LineContext } from './log.js'
import { traceArea } from './trace.js'

/** Renders a line as text of at most `maxSize` bytes, its line end not counted [management 10.2]. */
export type Form = (line: Line, maxSize: number) => string

const formNames = ['json', 'pipe', 'humans'] as const
export type FormName = (typeof formNames)[number]

/** The end of a cut value. */
const ellipsis = '(...)'

const outsideRequests: LineContext = { corr: 'N/A', trans: 'N/A', from: 'N/A', srv: 'N/A', subsrv: 'N/A' }

/** The forms of a line: a JSON object, the fields of Orion, or a short one for people [management 10.2]. */
export const forms: Readonly<Record<FormName, Form>> = {
  json: jsonForm(),
  pipe: (line, maxSize) => `${cutText(pipeText(line), maxSize)}\n`,
  humans: (line, maxSize) => `${cutText(humanText(line), maxSize)}\n`,
}

const pinoLevel = {
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
  FATAL: 'fatal',
  SUMMARY: 'summary',
} as const

/** The members of a line after time and level, in order. */
type Members = Readonly<Record<string, string | number | boolean | undefined>>

function membersOf({ op, message, area, partition, facts, context }: Line): Members {
  const { corr, trans, from, srv, subsrv } = context ?? outsideRequests
  const t = area === undefined ? undefined : traceArea[area]
  const fixed = { corr, trans, from, srv, subsrv, comp: 'Rigel', op, msg: message, t, area, partition }
  if (facts === undefined) return fixed
  const taken = new Set([...Object.keys(fixed), 'time', 'lvl'])
  // A fact must not replace a member that every line has.
  const named = Object.entries(facts).map(([name, value]) => [taken.has(name) ? `${name}_` : name, value] as const)
  return { ...fixed, ...Object.fromEntries(named) }
}

function timeText(line: Line): string {
  return new Date(line.time).toISOString()
}

function jsonForm(): Form {
  let written = ''
  const serialiser = pino(
    {
      base: null,
      timestamp: false,
      level: 'debug',
      customLevels: { summary: 70 },
      formatters: { level: (name) => ({ lvl: name.toUpperCase() }) },
    },
    { write: (text: string) => (written = text) },
  )

  /** pino puts the level first, and the time of a line is that of its thread. */
  function serialised(line: Line): string {
    serialiser[pinoLevel[line.level]](membersOf(line))
    // JSON leaves some characters as they are that readers may take for line ends; they occur only inside texts.
    return `{"time":"${timeText(line)}",${oneLine(written.slice(1, -1))}`
  }

  /** The line with its message cut to what is left of the size; undefined when the rest is too long without it. */
  function cutTo(line: Line, message: string, maxSize: number): string | undefined {
    const room = maxSize - Buffer.byteLength(serialised({ ...line, message: ellipsis }))
    return room < 0 ? undefined : `${serialised({ ...line, message: cutEscaped(message, room) + ellipsis })}\n`
  }

  /** `msg` is cut first; when that is not enough, client texts are cut, then the facts are left out. */
  return (line, maxSize) => {
    const message = line.message.slice(0, maxSize)
    const whole = serialised({ ...line, message })
    if (message === line.message && Buffer.byteLength(whole) <= maxSize) return `${whole}\n`
    const context = shortened(line.context, maxSize >> 3)
    return (
      cutTo(line, message, maxSize) ??
      cutTo({ ...line, context, facts: line.facts && shortFacts(line.facts, maxSize >> 5) }, message, maxSize) ??
      cutTo({ ...line, facts: undefined }, message, maxSize) ??
      `${serialised({ ...line, message: ellipsis, facts: undefined, context })}\n`
    )
  }
}

/** The facts of a line that is too long: no text takes more bytes of JSON than this. */
function shortFacts(facts: Facts, room: number): Facts {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, typeof value === 'string' ? shortText(value, room) : value]),
  )
}

/** Either as it is or cut: a text of so few characters is no longer in JSON than this. */
function shortText(value: string, room: number): string {
  return value.length * 6 <= room ? value : cutEscaped(value, room - ellipsis.length) + ellipsis
}

function shortened(context: LineContext = outsideRequests, room: number): LineContext {
  const cut = (value: string) => shortText(value, room)
  return {
    corr: cut(context.corr),
    trans: cut(context.trans),
    from: cut(context.from),
    srv: cut(context.srv),
    subsrv: cut(context.subsrv),
  }
}

function pipeText(line: Line): string {
  // A bar in a value would look like the next field; `msg`, the last field, keeps its own.
  const fields = Object.entries(membersOf(line))
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${name === 'msg' ? value : String(value).replaceAll('|', '\\u007c')}`)
  return [`time=${timeText(line)}`, `lvl=${line.level}`, ...fields].map(oneLine).join(' | ')
}

function humanText(line: Line): string {
  const facts = Object.entries(line.facts ?? {}).flatMap(([name, value]) =>
    value === undefined || inMessage[line.op]?.has(name) === true ? [] : [`${name}=${value}`],
  )
  const corr = line.context?.corr.slice(0, 8) ?? ''
  const who = corr === '' ? [] : [`[${corr}]`]
  const worker = line.partition === undefined ? [] : [`partition=${line.partition}`]
  const start = `${timeText(line).slice(11, 23)} ${line.level.padEnd(5)} ${line.op}  ${humanMessage(line)}`
  return oneLine([start, ...worker, ...facts, ...who].join(' '))
}

/** By operation: the facts that people need not read, since the short message or the end of the line says them. */
const inMessage: Readonly<Record<string, ReadonlySet<string>>> = {
  'http:answer': new Set([
    ...['method', 'path', 'route', 'status', 'duration_ms', 'bytes_in', 'bytes_out'],
    ...['client', 'tenant', 'correlator'],
  ]),
  'main:start': new Set(['version', 'git_hash', 'port', 'address', 'dbPath', 'partitions', 'writeConcern']),
}

/** The message; that of a request is short: `POST /v1/updateContext 200 3.1 ms` [management 10.2]. */
function humanMessage({ op, message, facts }: Line): string {
  const duration_ms = facts?.['duration_ms']
  if (op !== 'http:answer' || typeof duration_ms !== 'number') return message
  return `${facts?.['method']} ${facts?.['path']} ${facts?.['status']} ${duration_ms.toFixed(1)} ms`
}

/** The longest prefix of a text that takes at most `room` bytes in JSON. */
function cutEscaped(text: string, room: number): string {
  const escaped = cutBytes(oneLine(JSON.stringify(text)).slice(1, -1), Math.max(room, 0))
  // A cut escape is not valid; the longest has six characters.
  for (let length = escaped.length; length > 0; length -= 1) {
    const start = parsedText(escaped.slice(0, length))
    if (start !== undefined) return start
  }
  return ''
}

function parsedText(escaped: string): string | undefined {
  try {
    const text: unknown = JSON.parse(`"${escaped}"`)
    return typeof text === 'string' ? text : undefined
  } catch {
    return undefined
  }
}

function cutText(text: string, maxSize: number): string {
  return Buffer.byteLength(text) <= maxSize ? text : cutBytes(text, maxSize - ellipsis.length) + ellipsis
}

/** The longest prefix of a text that takes at most `size` bytes; no character is cut. */
function cutBytes(text: string, size: number): string {
  const bytes = Buffer.from(text.slice(0, Math.max(size, 0)))
  if (bytes.length <= size) return bytes.toString()
  let end = Math.max(size, 0)
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

/**
 * A text on one line: line breaks, control characters and other characters that some readers take for line ends are escaped, so
 * that a client cannot forge a log record or a second line of an error [management 10.2].
 */
export function oneLine(text: string): string {
  return unsafe.test(text) ? text.replaceAll(everyUnsafe, escaped) : text
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
const everyUnsafe = new RegExp(unsafe, 'g')

function escaped(character: string): string {
  const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character]
  return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
