import { isSecretHeader } from '../secret-headers.js'

const secretParameters = new Set([
  'token',
  'x-auth-token',
  'authorization',
  'access_token',
  'apikey',
  'api_key',
  'password',
])

/** What stands in a log for what is secret [management 10.5]. */
const hidden = '***'

/** Headers as a log may show them: the values of those that carry secrets are hidden [management 10.5]. */
export function withoutSecrets(
  headers: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const shown = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(shown.map(([name, value]) => [name, isSecretHeader(name) ? hidden : String(value)]))
}

/** A URL or request target as a log may show it: without the part before `@` and the secret parameters [management 10.5]. */
export function urlWithoutSecrets(url: string): string {
  const anonymous = url.replace(/^([a-z][a-z0-9+.-]*:)?[\\/]{2,}[^/?#]*@/i, `$1//${hidden}@`)
  return textWithoutSecrets(anonymous)
}

/** In a text of JSON a URL ends with its quotation mark; it may have spaces, and its slashes may be escaped. */
const quotedUser = /("(?:https?:[\\/]*|(?:[a-z][a-z0-9+.-]{0,30}:)?(?:\\?\/){2}))(?:[^"\\/?#]|\\[^/])*@/gi
const plainUser = /(https?:[\\/]*|(?:\\?\/){2})[^\s/?#"]*@/gi
const parameter = /([?&;])([^=&;#?\s"\\]{1,64})=[^&;#\s"]*/g

/**
 * A text as a log may show it, whatever it is: in every URL in it the part before `@` and the values of secret parameters
 * are hidden [management 10.5].
 */
export function textWithoutSecrets(text: string): string {
  let shown = text
  if (shown.includes('@')) {
    shown = shown.replace(quotedUser, `$1${hidden}@`).replace(plainUser, `$1${hidden}@`)
  }
  if (!shown.includes('=')) return shown
  return shown.replace(parameter, (pair: string, separator: string, name: string) =>
    secretParameters.has(decoded(name).toLowerCase()) ? `${separator}${name}=${hidden}` : pair,
  )
}

/** The start of a text that was cut off: a URL at its end whose `@` was lost may be a part of a password, and is hidden. */
function startWithoutSecrets(start: string): string {
  return textWithoutSecrets(start).replace(/(https?:[\\/]*|(?:\\?\/){2})[^\s/?#"@]*$/i, `$1${hidden}`)
}

/** A name that is written with escapes means the same parameter. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** How far beyond the limit secrets are looked for that begin before it. */
const lookahead = 2048

/** A payload as a line of the log shows it: without secrets, on one line, cut at a number of bytes [management 10.4, 10.5]. */
export function payloadShown(body: string, limit_bytes: number): string {
  const most = limit_bytes + 1 + lookahead
  const shown = body.length > most ? startWithoutSecrets(body.slice(0, most)) : textWithoutSecrets(body)
  const line = shown.slice(0, limit_bytes + 1).replace(/\s*[\r\n]+\s*/g, ' ')
  const bytes = Buffer.from(line)
  return bytes.length > limit_bytes ? `${bytes.subarray(0, limit_bytes).toString()}(...)` : line
}
