import { createHash } from 'node:crypto'
import { urlWithoutSecrets } from './secrets.js'

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
