import { createHash } from 'node:crypto'
import {
  hidden,
  withoutOpenUser,
  withoutPlainUsers,
  withoutQuotedUsers,
  withoutSecretParameters,
} from './url-secrets.js'

/** Headers as a log may show them: the values of those that carry secrets are hidden [management 10.5]. */
export function withoutSecrets(
  headers: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const shown = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(shown.map(([name, value]) => [name, isSecretHeader(name) ? hidden : String(value)]))
}

/** A URL or request target as a log may show it: without the part before `@` and the secret parameters [management 10.5]. */
export function urlWithoutSecrets(url: string): string {
  return textWithoutSecrets(url.replace(userOfUrl, `$1//${hidden}@`))
}

/** What is behind the slashes begins with no further one, so that there is one way to match. */
const userOfUrl = /^([a-z][a-z0-9+.-]*:)?[\\/]{2,}(?:[^\\/?#][^/?#]*)?@/i

/**
 * A text as a log may show it, whatever it is: in every URL in it the part before `@` and the values of secret parameters
 * are hidden [management 10.5].
 */
export function textWithoutSecrets(text: string): string {
  const shown = text.includes('@') ? withoutPlainUsers(withoutQuotedUsers(text)) : text
  return shown.includes('=') ? withoutSecretParameters(shown) : shown
}

/** How far beyond the limit secrets are looked for that begin before it. */
const lookahead = 2048

/** A payload as a line of the log shows it: without secrets, on one line, cut at a number of bytes [management 10.4, 10.5]. */
export function payloadShown(body: string, limit_bytes: number): string {
  const most = limit_bytes + 1 + lookahead
  const shown = body.length > most ? withoutOpenUser(textWithoutSecrets(body.slice(0, most))) : textWithoutSecrets(body)
  const line = shown.slice(0, limit_bytes + 1).replace(/\s+/g, (run) => (/[\r\n]/.test(run) ? ' ' : run))
  const bytes = Buffer.from(line)
  return bytes.length > limit_bytes ? `${bytes.subarray(0, limit_bytes).toString()}(...)` : line
}

/** Headers whose values are secret, in lower case. */
const names: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-auth-token',
  'cookie',
  'set-cookie',
])

/**
 * Whether the value of a header is secret: logs hide it [management 10.5], and it stays with the origin that it was meant for.
 */
export function isSecretHeader(name: string): boolean {
  return names.has(name.toLowerCase())
}

/** Characters of a name that is kept in memory: an address, a URL, a path, as clients and other hosts choose them. */
const mostKept = 256
const start = 200

/**
 * A name as it may be kept for long, when others choose it: a long one is cut and ends with a hash of the whole, so that
 * it is still told apart from others. The copy is its own: a part of a text keeps all of that text in memory.
 */
export function keptName(name: string): string {
  if (name.length <= mostKept) return ownText(name)
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 16)
  return ownText(`${name.slice(0, start)}(...)${hash}`)
}

/** Of what an alarm is told: an address, or a URL without its secrets [management 10.5, 10.7]. */
export function alarmSubject(subject: string): string {
  return keptName(urlWithoutSecrets(subject))
}

/** A text that does not hold on to another one that it was cut from. */
export function ownText(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}
