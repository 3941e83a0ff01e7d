import { createHash } from 'node:crypto'
import {
  hidden,
  withoutOpenUser,
  withoutPlainUsers,
  withoutQuotedUsers,
  withoutSecretParameters,
} from './url-secrets.js'

/** Headers for the log: the values of those that carry secrets are hidden [management 10.5]. */
export function withoutSecrets(
  headers: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const shown = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(shown.map(([name, value]) => [name, isSecretHeader(name) ? hidden : String(value)]))
}

/** A URL or request target for the log: the part before `@` and the secret parameters are hidden [management 10.5]. */
export function urlWithoutSecrets(url: string): string {
  return textWithoutSecrets(url.replace(userOfUrl, `$1//${hidden}@`))
}

/** The part behind the slashes begins with no further slash, so there is only one way to match. */
const userOfUrl = /^([a-z][a-z0-9+.-]*:)?[\\/]{2,}(?:[^\\/?#][^/?#]*)?@/i

/**
 * Any text for the log: in every URL in it, the part before `@` and the values of secret parameters are hidden [management 10.5].
 */
export function textWithoutSecrets(text: string): string {
  const shown = text.includes('@') ? withoutPlainUsers(withoutQuotedUsers(text)) : text
  return shown.includes('=') ? withoutSecretParameters(shown) : shown
}

/** How far beyond the limit the end of a secret is looked for that begins before it. */
const lookahead = 2048

/**
 * A payload for the log: without secrets, on one line, cut at a number of bytes [management 10.4, 10.5]. `isStart`: more of it was cut off
 * before.
 */
export function payloadShown(body: string, limit_bytes: number, isStart = false): string {
  const most = limit_bytes + 1 + lookahead
  const known = textWithoutSecrets(body.slice(0, most))
  const shown = isStart || body.length > most ? withoutOpenUser(known) : known
  const line = shown.slice(0, limit_bytes + 1).replace(/\s+/g, (run) => (/[\r\n]/.test(run) ? ' ' : run))
  const bytes = Buffer.from(line)
  return bytes.length > limit_bytes || isStart ? `${bytes.subarray(0, limit_bytes).toString()}(...)` : line
}

/** Headers whose values are secret, in lower case. */
const names: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-auth-token',
  'cookie',
  'set-cookie',
])

/** Whether the value of a header is secret: logs hide it [management 10.5], and it is never sent to another origin. */
export function isSecretHeader(name: string): boolean {
  return names.has(name.toLowerCase())
}

/** The values of the secret headers among names and values in turn; of an `Authorization`, also what comes behind its scheme. */
export function secretValues(flat: readonly string[]): readonly string[] {
  return flat.flatMap((value, at) => {
    if (at % 2 === 0 || value === '' || !isSecretHeader(flat[at - 1] ?? '')) return []
    const credentials = value.slice(value.indexOf(' ') + 1)
    return credentials === '' || credentials === value ? [value] : [value, credentials]
  })
}

/** A text with these values hidden, also with their slashes escaped as in JSON; at the end of a text that was cut, the beginning of one as well. */
export function withoutValues(text: string, values: readonly string[], isCut: boolean): string {
  const written = values.flatMap((value) => [value, value.replaceAll('/', '\\/')])
  return written.reduce((shown, value) => withoutValue(shown, value, isCut), text)
}

function withoutValue(text: string, value: string, isCut: boolean): string {
  const shown = text.replaceAll(value, hidden)
  for (let length = isCut ? Math.min(value.length - 1, shown.length) : 0; length > 0; length -= 1) {
    if (shown.endsWith(value.slice(0, length))) return shown.slice(0, -length) + hidden
  }
  return shown
}

/** The most characters of a name that is kept in memory: addresses, URLs and paths are chosen by clients and other hosts. */
const mostKept = 256
const start = 200

/**
 * A name that others choose, in a form to be kept for long: a long one is cut and ends with a hash of the whole, so that names
 * stay distinct. The result is a copy: a substring would keep the whole text in memory.
 */
export function keptName(name: string): string {
  if (name.length <= mostKept) return ownText(name)
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 16)
  return ownText(`${name.slice(0, start)}(...)${hash}`)
}

/** The subject of an alarm: an address, or a URL without its secrets [management 10.5, 10.7]. */
export function alarmSubject(subject: string): string {
  return keptName(urlWithoutSecrets(subject))
}

/** A copy of a text that does not keep the text in memory from which it was cut. */
export function ownText(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}
