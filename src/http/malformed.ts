import { type IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ConnectionTable } from './connection-table.js'
import type { ClientConnection } from './connections.js'
import type { ServerContext } from './request-context.js'
import { logRefusedInput } from './request-log.js'

/** Answers what Node's parser has refused: malformed HTTP, too long or too slow heads, and verbs that it does not know [management 11.5]. */
export class MalformedInput {
  readonly #context: ServerContext
  readonly #maxHead_bytes: number
  readonly #connections: Pick<ConnectionTable, 'get'>
  readonly #serveLast: (incoming: IncomingMessage) => void
  readonly #unknownVerbs = new WeakMap<Duplex, UnknownVerbHead>()

  /** `serveLast` begins a request with an unknown verb, which is the last one of its connection. */
  constructor(
    context: ServerContext,
    maxHead_bytes: number,
    connections: Pick<ConnectionTable, 'get'>,
    serveLast: (incoming: IncomingMessage) => void,
  ) {
    this.#context = context
    this.#maxHead_bytes = maxHead_bytes
    this.#connections = connections
    this.#serveLast = serveLast
  }

  /** A connection that never said anything is just closed. */
  refuse(fault: Error & RefusedBytes, socket: Duplex): void {
    const { log } = this.#context
    if (log.isTraced('http.malformed')) log.trace('http.malformed', `${fault.code}: ${fault.message}`)
    const connection = this.#connections.get(socket)
    if (connection === undefined || connection.socket.bytesRead === 0) return void socket.destroy()
    const { code = '' } = fault
    const unknown = this.#unknownVerbs.get(socket)
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT') this.refuseWith(connection, 408, fault.message)
    else if (!code.startsWith('HPE_')) socket.destroy()
    else if (unknown !== undefined) this.#gather(connection, unknown, fault.rawPacket)
    // What comes after the last request of a connection is not looked at.
    else if (code === 'HPE_CLOSED_CONNECTION' || connection.closing) return
    // Nobody waits for a response to half a request.
    else if (code === 'HPE_INVALID_EOF_STATE') connection.refuseWith(undefined)
    else if (code === 'HPE_HEADER_OVERFLOW') this.refuseWith(connection, 431, fault.message)
    else {
      const at = unknownVerbAt(fault)
      if (at === undefined || connection.reading !== undefined) this.refuseWith(connection, 400, fault.message)
      else {
        const head = new UnknownVerbHead(this.#maxHead_bytes)
        this.#unknownVerbs.set(socket, head)
        this.#gather(connection, head, fault.rawPacket?.subarray(at))
      }
    }
  }

  /**
   * Refuses what came with nothing but a status, after the responses before it, and closes the connection. `fault` says why, for
   * the log. If it is a part of a request, that request has the line.
   */
  refuseWith(connection: ClientConnection, status: 400 | 408 | 431, fault: string): void {
    const isOfRequest = connection.reading !== undefined
    const end = () => {
      connection.endWith(status)
      if (!isOfRequest) logRefusedInput(this.#context, { status, peer: connection.peer, fault })
    }
    if (!connection.refuse(end, status)) return
    this.#context.meter.rejected(status === 431 ? 'too_large' : status === 408 ? 'timeout' : 'malformed')
  }

  /** A verb that the parser does not know: the request is served when its head is complete, and is the last one. */
  #gather(connection: ClientConnection, head: UnknownVerbHead, bytes: Buffer | undefined): void {
    if (connection.closing) return
    const found = bytes === undefined ? ({ kind: 'malformed' } as const) : head.add(bytes, connection.socket)
    if (found === undefined) return
    if (found.kind === 'malformed') this.refuseWith(connection, 400, 'no HTTP behind an unknown method')
    else connection.refuse(() => this.#serveLast(found.incoming))
  }
}

/** The outcome of reading a request whose verb the parser does not know. */
type UnknownVerb = { readonly kind: 'request'; readonly incoming: IncomingMessage } | { readonly kind: 'malformed' }

/**
 * Gathers the head of a request that the parser has refused because it does not know its verb: any token is a verb
 * like others [management 11.1]. It may come one byte at a time, so each byte is looked at once.
 */
class UnknownVerbHead {
  readonly #limit_bytes: number
  #bytes = Buffer.alloc(firstRoom_bytes)
  #length = 0
  /** The part of the first line that the last byte belongs to; nothing once all of the line has come. */
  #part: LinePart | undefined = 'begin'

  constructor(limit_bytes: number) {
    this.#limit_bytes = limit_bytes
  }

  /** Takes more of what came; nothing while the head is not complete and may still become one. */
  add(bytes: Buffer, socket: Socket): UnknownVerb | undefined {
    const before = this.#length
    this.#keep(bytes.subarray(0, this.#limit_bytes + 1))
    const head = this.#bytes.subarray(0, this.#length)
    // What came before has no end in it, but may have three of its four characters.
    const end = head.indexOf('\r\n\r\n', Math.max(before - 3, 0), 'latin1')
    if (end !== -1) return parsed(head.toString('latin1', 0, end), socket)
    const mayBecome = head.length <= this.#limit_bytes && this.#readsLine(head, before)
    return mayBecome ? undefined : { kind: 'malformed' }
  }

  #keep(bytes: Buffer): void {
    const length = this.#length + bytes.length
    if (length > this.#bytes.length) {
      const larger = Buffer.alloc(2 * length)
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
    }
    bytes.copy(this.#bytes, this.#length)
    this.#length = length
  }

  /** Reads the first line from a byte on; whether it is one of a request, or may become one. */
  #readsLine(head: Buffer, from: number): boolean {
    for (let at = from; at < head.length && this.#part !== undefined; at += 1) {
      const character = String.fromCharCode(head[at] ?? 0)
      if (character === '\n' && head[at - 1] === 13) {
        this.#part = undefined
        return requestLine.test(head.toString('latin1', 0, at - 1))
      }
      this.#part = partAfter(this.#part, character)
      if (this.#part === undefined) return false
    }
    return true
  }
}

const firstRoom_bytes = 1024

type LinePart = 'begin' | 'verb' | 'target' | 'version'

/** The part of a request line that a character belongs to, behind one of a part; nothing where it cannot stand. */
function partAfter(part: LinePart, character: string): LinePart | undefined {
  switch (part) {
    case 'begin':
      return tokenCharacter.test(character) ? 'verb' : undefined
    case 'verb':
      return character === ' ' ? 'target' : tokenCharacter.test(character) ? 'verb' : undefined
    case 'target':
      return character === ' ' ? 'version' : targetCharacter.test(character) ? 'target' : undefined
    case 'version':
      return versionCharacter.test(character) ? 'version' : undefined
  }
}

/**
 * Where a refused request begins: its verb is a token, some of which the parser may have taken before it knew. Nothing when it
 * was refused for something else.
 */
function unknownVerbAt(fault: RefusedBytes): number | undefined {
  const { code, reason = '', rawPacket, bytesParsed = 0 } = fault
  if (rawPacket === undefined) return undefined
  // Verbs of other protocols are refused when the parser has read which protocol it is.
  if (reason.startsWith('Invalid method for')) return rawPacket.lastIndexOf(10, bytesParsed) + 1
  if (code !== 'HPE_INVALID_METHOD') return undefined
  let at = bytesParsed
  while (at > 0 && isOfToken(rawPacket[at - 1])) at -= 1
  return at
}

/** An error of the parser with the bytes that it could not read. */
export interface RefusedBytes {
  readonly code?: string | undefined
  readonly reason?: string
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

const tokenCharacter = /[!#$%&'*+.^_`|~0-9A-Za-z-]/
const targetCharacter = /[\x21-\x7e\x80-\xff]/
const versionCharacter = /[HTP/1.0\r]/
const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/
const header = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/

function parsed(head: string, socket: Socket): UnknownVerb {
  const [first = '', ...lines] = head.split('\r\n')
  const [, verb, url, minor] = requestLine.exec(first) ?? []
  if (verb === undefined || url === undefined) return { kind: 'malformed' }
  const incoming = new IncomingMessage(socket)
  incoming.method = verb
  incoming.url = url
  incoming.httpVersion = `1.${minor}`
  incoming.httpVersionMajor = 1
  incoming.httpVersionMinor = Number(minor)
  const headers: IncomingHttpHeaders = {}
  for (const line of lines) {
    const [, name, given] = header.exec(line) ?? []
    if (name === undefined || given === undefined) return { kind: 'malformed' }
    const value = withoutBlanksAround(given)
    incoming.rawHeaders.push(name, value)
    const key = name.toLowerCase()
    const earlier = headers[key]
    headers[key] = earlier === undefined ? value : `${earlier}, ${value}`
  }
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  if (length !== undefined && (encoding !== undefined || !/^\d{1,15}$/.test(length))) return { kind: 'malformed' }
  incoming.headers = headers
  incoming.complete = true
  incoming.push(null)
  return { kind: 'request', incoming }
}

/** Without the spaces and tabs at both ends; other white space, such as U+00A0, is part of a value. */
function withoutBlanksAround(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpaceOrTab(text.charCodeAt(start))) start += 1
  while (end > start && isSpaceOrTab(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

function isSpaceOrTab(unit: number): boolean {
  return unit === 0x20 || unit === 0x09
}

function isOfToken(byte: number | undefined): boolean {
  return byte !== undefined && tokenCharacter.test(String.fromCharCode(byte))
}
