import type { Entity } from '../context/entity.js'
import type { MessagePart, NewNotice, Notice, SharedText } from './notice.js'

/** From this many characters on, storing a text several times takes longer than finding it in bodies. */
const longFrom = 2 ** 15

/**
 * Stores the entity's longest text once for those notices of a change whose bodies contain it: logging and storing 50 bodies of
 * 900,000 characters takes a turn 300 ms. The notices stay the same.
 */
export function withSharedTexts(notices: readonly NewNotice[], { attributes }: Entity): readonly NewNotice[] {
  const long = notices.filter((notice) => isAlone(notice) && notice.body.length >= longFrom)
  if (long.length < 2) return notices
  let longest = ''
  for (const { value } of attributes) if (typeof value === 'string' && value.length > longest.length) longest = value
  if (longest.length < longFrom) return notices
  const quoted = JSON.stringify(longest).slice(1, -1)
  return shared(shared(notices, quoted), longest)
}

function shared(notices: readonly NewNotice[], text: string): readonly NewNotice[] {
  const having: Notice[] = []
  const messages: MessagePart[] = []
  for (const notice of notices) {
    // Shared notices have one moment, which they put on the clocks of their subscriptions.
    if (!isAlone(notice) || (having[0] !== undefined && having[0].made !== notice.made)) continue
    const pieces = piecesOf(notice.body, text)
    if (pieces === undefined) continue
    having.push(notice)
    messages.push({ correlator: notice.correlator, message: notice.message, pieces })
  }
  const [first] = having
  if (first === undefined || having.length < 2) return notices
  const { subscription: _, correlator: __, body: ___, message: ____, ...common } = first
  const together: SharedText = {
    ...common,
    subscriptions: having.map(({ subscription }) => subscription),
    messages,
    text,
  }
  const members: ReadonlySet<NewNotice> = new Set(having)
  return notices.flatMap((notice) => (notice === first ? together : members.has(notice) ? [] : notice))
}

/** The text is looked for within this many characters from the beginning of a body, and from the end of each occurrence. */
const window = 2 ** 16
/** The text may begin wherever its first characters are found; after too many such places the search is given up. */
const beginning = 8
const triesMost = 16

/**
 * The parts around the occurrences of a text; undefined where it is not found. The search is limited: a search everywhere, for a
 * long text that nearly matches again and again, would take time that grows with the product of both lengths.
 */
function piecesOf(body: string, text: string): readonly string[] | undefined {
  const pieces: string[] = []
  let from = 0
  for (let at = placeOf(text, body, from); at !== undefined; at = placeOf(text, body, from)) {
    pieces.push(body.slice(from, at))
    from = at + text.length
  }
  return pieces.length === 0 ? undefined : [...pieces, body.slice(from)]
}

function placeOf(text: string, body: string, from: number): number | undefined {
  const sought = body.slice(from, from + window)
  const sample = text.slice(0, beginning)
  let at = sought.indexOf(sample)
  for (let tries = 0; at !== -1 && tries < triesMost; tries += 1) {
    if (body.slice(from + at, from + at + text.length) === text) return from + at
    at = sought.indexOf(sample, at + 1)
  }
  return undefined
}

function isAlone(notice: NewNotice): notice is Notice {
  return !('subscriptions' in notice) && notice.provisional === undefined && notice.after === undefined
}
