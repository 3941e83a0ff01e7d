import { type IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** What a request whose verb the parser does not know turned out to be. */
export type UnknownVerb =
  | { readonly kind: 'request'; readonly incoming: IncomingMessage }
  | { readonly kind: 'malformed' }

/**
 * Gathers the head of a request that the parser has refused because it does not know its verb: any letters are a verb
 * like others [management 11.1].
 */
export class UnknownVerbHead {
  readonly #limit_bytes: number
  #text = ''

  constructor(limit_bytes: number) {
    this.#limit_bytes = limit_bytes
  }

  /** Takes more of what came; nothing while the head is not complete and may still become one. */
  add(bytes: Buffer, socket: Socket): UnknownVerb | undefined {
    this.#text += bytes.toString('latin1', 0, this.#limit_bytes + 1)
    const end = this.#text.indexOf('\r\n\r\n')
    if (end !== -1) return parsed(this.#text.slice(0, end), socket)
    const lineEnd = this.#text.indexOf('\r\n')
    const line = lineEnd === -1 ? this.#text : this.#text.slice(0, lineEnd)
    const mayBecome = (lineEnd === -1 ? requestLineBegun : requestLine).test(line)
    return mayBecome && this.#text.length <= this.#limit_bytes ? undefined : { kind: 'malformed' }
  }
}

/**
 * Where a refused request begins: its verb is letters, some of which the parser may have taken before it knew. Nothing when it
 * was refused for something else.
 */
export function unknownVerbAt(fault: RefusedBytes): number | undefined {
  const { code, reason = '', rawPacket, bytesParsed = 0 } = fault
  if (rawPacket === undefined) return undefined
  // Verbs of other protocols are refused when the parser has read which protocol it is.
  if (reason.startsWith('Invalid method for')) return rawPacket.lastIndexOf(10, bytesParsed) + 1
  if (code !== 'HPE_INVALID_METHOD') return undefined
  let at = bytesParsed
  while (at > 0 && isLetter(rawPacket[at - 1])) at -= 1
  return at
}

/** An error of the parser with the bytes that it could not read. */
export interface RefusedBytes {
  readonly code?: string | undefined
  readonly reason?: string
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

const requestLineBegun = /^[A-Za-z]+(?: [\x21-\x7e\x80-\xff]*(?: [HTP/1.0\r]*)?)?$/
const requestLine = /^([A-Za-z]+) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/
const header = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/

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
    const [, name, value] = header.exec(line) ?? []
    if (name === undefined || value === undefined) return { kind: 'malformed' }
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

function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122))
}
