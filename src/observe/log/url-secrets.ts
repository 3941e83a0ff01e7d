/*
 * What is secret in the URLs of a text. Each scanner goes through the text once: what it has looked at and found no `@` in is not
 * looked at again, wherever the next URL begins.
 */

/** The replacement of a secret [management 10.5]. */
export const hidden = '***'

const secretParameters = new Set([
  'token',
  'x-auth-token',
  'authorization',
  'access_token',
  'apikey',
  'api_key',
  'password',
])

/** The beginning of a URL, up to its user. */
interface Opening {
  readonly start: number
  readonly end: number
}

/** In JSON a URL ends at its quotation mark; it may have spaces, and its slashes may be escaped. */
const quotedOpening = /"(?:https?:[\\/]*|([a-z][a-z0-9+.-]*:)?(?:\\?\/){2})/iy
/** The most characters of a scheme with its colon. */
const longestScheme = 32
const plainOpening = /https?:[\\/]*|(?:\\?\/){2}/gi
const plainEnd = /[\s/?#"]/g

/** A text with the users hidden of all URLs in JSON strings. */
export function withoutQuotedUsers(text: string): string {
  const users = new QuotedUsers(text)
  return replaced(
    text,
    (from) => quotedOpeningIn(text, from),
    (opening) => users.of(opening),
  )
}

/** A text with the users hidden of all URLs outside of JSON strings. */
export function withoutPlainUsers(text: string): string {
  const users = new PlainUsers(text)
  return replaced(
    text,
    (from) => plainOpeningIn(text, from),
    (opening) => users.of(opening),
  )
}

/** A cut text: if a URL at its end has lost its `@`, the end may be part of a password and is hidden. */
export function withoutOpenUser(text: string): string {
  let user = text.length
  while (user > 0 && !/[\s/?#"@]/.test(text.charAt(user - 1))) user -= 1
  let opening = plainOpeningIn(text, 0)
  while (opening !== undefined && opening.end < user) opening = plainOpeningIn(text, opening.start + 1)
  return opening === undefined ? text : text.slice(0, opening.end) + hidden
}

/** A text with the values of secret parameters hidden. */
export function withoutSecretParameters(text: string): string {
  let shown = ''
  let kept = 0
  parameter.lastIndex = 0
  for (let found = parameter.exec(text); found !== null; found = parameter.exec(text)) {
    const [, name = ''] = found
    if (name.length > longestName) continue
    const start = parameter.lastIndex
    value.lastIndex = start
    value.test(text)
    parameter.lastIndex = value.lastIndex
    if (!secretParameters.has(decoded(name).toLowerCase())) continue
    shown += text.slice(kept, start) + hidden
    kept = value.lastIndex
  }
  return shown + text.slice(kept)
}

const parameter = /[?&;]([^=&;#?\s"\\]+)=/g
const value = /[^&;#\s"]*/y
const longestName = 64

/** A name with escapes means the same parameter. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** The range of a user, without the `@` behind it. */
interface User {
  readonly start: number
  readonly end: number
}

function replaced(
  text: string,
  openingFrom: (from: number) => Opening | undefined,
  userOf: (opening: Opening) => User | undefined,
): string {
  let shown = ''
  let kept = 0
  for (let opening = openingFrom(0); opening !== undefined; ) {
    const user = userOf(opening)
    if (user !== undefined) {
      shown += text.slice(kept, user.start) + hidden
      kept = user.end
    }
    opening = openingFrom(user === undefined ? opening.start + 1 : user.end + 1)
  }
  return shown + text.slice(kept)
}

function quotedOpeningIn(text: string, from: number): Opening | undefined {
  for (let start = text.indexOf('"', from); start !== -1; start = text.indexOf('"', start + 1)) {
    quotedOpening.lastIndex = start
    const [found, scheme = ''] = quotedOpening.exec(text) ?? []
    if (found !== undefined && scheme.length <= longestScheme) return { start, end: start + found.length }
  }
  return undefined
}

function plainOpeningIn(text: string, from: number): Opening | undefined {
  plainOpening.lastIndex = from
  const found = plainOpening.exec(text)
  return found === null ? undefined : { start: found.index, end: plainOpening.lastIndex }
}

/** Users that end at a space, at a quotation mark or at the end of a URL's host. */
class PlainUsers {
  readonly #text: string
  /** How far the text was searched, and the last `@` before. */
  #searched = -1
  #last = -1

  constructor(text: string) {
    this.#text = text
  }

  of({ end: start }: Opening): User | undefined {
    if (start > this.#searched) this.#search(start)
    return this.#last < start ? undefined : { start, end: this.#last }
  }

  #search(from: number): void {
    plainEnd.lastIndex = from
    this.#searched = plainEnd.exec(this.#text)?.index ?? this.#text.length
    const at = this.#text.slice(from, this.#searched).lastIndexOf('@')
    this.#last = at === -1 ? -1 : from + at
  }
}

const backslash = '\\'.charCodeAt(0)
const at = '@'.charCodeAt(0)
const endsQuoted: ReadonlySet<number> = new Set([...'"/?#'].map((character) => character.charCodeAt(0)))

/** Users in JSON strings: a backslash belongs to the next character, and before a slash it ends the user. */
class QuotedUsers {
  readonly #text: string
  /** Up to here there is no further `@`, for every user but one that begins behind a backslash. */
  #searched = 0

  constructor(text: string) {
    this.#text = text
  }

  of({ end: start }: Opening): User | undefined {
    const end = this.#lastAt(start)
    if (end !== undefined) return { start, end }
    // The last backslash of an opening may belong to the first character of the user.
    if (this.#text.charCodeAt(start - 1) !== backslash || start >= this.#text.length) return undefined
    const other = this.#lastAt(start + 1)
    return other === undefined ? undefined : { start: start - 1, end: other }
  }

  #lastAt(from: number): number | undefined {
    const text = this.#text
    let last: number | undefined
    let position = from
    while (position < text.length) {
      // An earlier search passed here, in step with this one.
      if (position < this.#searched && text.charCodeAt(position - 1) !== backslash) return last
      const unit = text.charCodeAt(position)
      if (endsQuoted.has(unit)) break
      if (unit === backslash && (position + 1 === text.length || text[position + 1] === '/')) break
      if (unit === at) last = position
      position += unit === backslash ? 2 : 1
    }
    this.#searched = Math.max(this.#searched, position)
    return last
  }
}
