import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { err, ok, type Result } from '../result.js'
import { splitTarget, type Target } from './target.js'

/** The head of a request. */
export interface Head {
  readonly verb: string
  /** The request target as it came. */
  readonly url: string
  readonly path: string
  readonly query: string
  readonly headers: IncomingHttpHeaders
  /** The address that its connection comes from. */
  readonly peer: () => string | undefined
  readonly target: Target
  readonly correlator: string
  /** The length of the body; undefined when it comes in chunks. */
  readonly announced_bytes: number | undefined
  /** Whether the client waits for 100 before it sends the body. */
  readonly expectsContinue: boolean
}

/** The head of a request whose path means this target. */
export function readHead(incoming: IncomingMessage, target: Target): Head {
  const { method = '', url = '', headers, httpVersionMinor } = incoming
  const { path, query } = splitTarget(url)
  return {
    verb: method,
    url,
    path,
    query,
    headers,
    peer: () => incoming.socket.remoteAddress,
    target,
    correlator: correlatorOf(headers),
    announced_bytes: announcedBody(headers),
    expectsContinue: headers.expect !== undefined && waitsFor100.test(headers.expect) && httpVersionMinor > 0,
  }
}

const waitsFor100 = /(?:^|\W)100-continue(?:$|\W)/i

/**
 * The length that the head announces for the body; undefined when it comes in chunks. The parser has refused
 * contradictions [management 11.5].
 */
export function announcedBody(headers: IncomingHttpHeaders): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined
}

/** The media type of a Content-Type as it was sent, without parameters; nothing without the header. */
export function mediaTypeOf(contentType: string | undefined): string | undefined {
  if (contentType === undefined) return undefined
  const semicolon = contentType.indexOf(';')
  const type = (semicolon === -1 ? contentType : contentType.slice(0, semicolon)).trim()
  return type === '' ? undefined : type
}

/** Whether a media type is JSON's; upper and lower case do not matter. */
export function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.toLowerCase() === 'application/json'
}

/** Whether a media type is that of plain text; upper and lower case do not matter. */
export function isText(mediaType: string): boolean {
  return mediaType.toLowerCase() === 'text/plain'
}

/** What the client takes: JSON, or nothing but text. */
export type Acceptable = 'json' | 'text'

interface AcceptRefusal {
  readonly status: 400 | 406
  readonly text: string
}

const jsonRanges: ReadonlySet<string> = new Set(['*/*', 'application/*', 'application/json'])
const textRanges: ReadonlySet<string> = new Set(['text/*', 'text/plain'])

const acceptsJson: Result<Acceptable, AcceptRefusal> = ok('json')

/** What an Accept header allows; types that the broker does not know are skipped [management 11.4]. */
export function parseAccept(accept: string | undefined): Result<Acceptable, AcceptRefusal> {
  if (accept === undefined || accept === 'application/json' || accept === '*/*') return acceptsJson
  if (accept.trim() === '') return err({ status: 400, text: 'empty accept header' })
  let acceptable: Acceptable | undefined
  for (const item of accept.split(',')) {
    const [range = '', quality] = item.split(';', 2)
    const type = range.trim().toLowerCase()
    const isText = textRanges.has(type)
    if (!isText && !jsonRanges.has(type)) continue
    const fault = qualityFault(quality)
    if (fault !== undefined) return err({ status: 400, text: fault })
    acceptable = isText ? (acceptable ?? 'text') : 'json'
  }
  if (acceptable === undefined) return err({ status: 406, text: 'no acceptable mime-type in accept header' })
  return ok(acceptable)
}

function qualityFault(quality: string | undefined): string | undefined {
  if (quality === undefined) return undefined
  const [name = '', value] = quality.split('=', 2)
  if (name.trim() !== 'q') return 'q missing in accept header'
  if (value === undefined) return 'missing equal-sign after q in accept header'
  if (value.trim() === '') return 'qvalue in accept header is missing'
  return /^(\d+(\.\d*)?|\.\d+)$/.test(value.trim()) ? undefined : 'qvalue in accept header is not a number'
}

/** The correlator of a request: the one it came with, else a new one [management 11.2]. */
export function correlatorOf(headers: IncomingHttpHeaders): string {
  return single(headers['fiware-correlator']) || randomUUID()
}

/** On whose behalf a request came, for the log [management 10.3]. */
export function clientAddressOf(headers: IncomingHttpHeaders, peer: string | undefined): string {
  return single(headers['x-real-ip']) || single(headers['x-forwarded-for']) || ipv4Of(peer ?? 'N/A')
}

/** An IPv4 address as its owner writes it, also where the socket is one of IPv6. */
function ipv4Of(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
}

/** A header's value; of one that came several times all values in one text. */
export function single(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

/**
 * Whether a request says once for which host it is, or not at all in HTTP/1.0 [RFC 9112 3.2]. Of several hosts a proxy may
 * believe another one than the broker.
 */
export function namesHost(rawHeaders: readonly string[], minorVersion: number): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts === 1 || (hosts === 0 && minorVersion === 0)
}

const used: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'fiware-correlator',
  'fiware-service',
  'fiware-servicepath',
  'host',
  'keep-alive',
  'origin',
  'transfer-encoding',
  'via',
  'x-forwarded-for',
  'x-real-ip',
])

/** The names of the headers that the broker does not use, for the log. */
export function unusedHeaders(headers: IncomingHttpHeaders): readonly string[] {
  return Object.keys(headers).filter((name) => !used.has(name))
}
