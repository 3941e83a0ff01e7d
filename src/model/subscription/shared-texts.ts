import type { Entity } from '../context/entity.js'
import type { MessagePart, NewNotice, Notice, SharedText } from './notice.js'

/** From so many characters on a text takes longer to be stored several times than to be found in bodies. */
const longFrom = 2 ** 15

/**
 * The notices of one change, of which those that have the longest text of the entity in their bodies hold it once together: to log and to
 * store 50 bodies of 900,000 characters takes a turn 300 ms. What they say is the same.
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
    // One that was made at another moment moves the clock of its subscription to that.
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

/** A text is looked for in so many characters behind the beginning of a body, and behind each occurrence. */
const window = 2 ** 16
/** A place where it may stand begins so; where there are many of those, it is not looked for any further. */
const beginning = 8
const triesMost = 16

/**
 * What stands around the occurrences of a text; nothing where it is not found. It is not looked for everywhere: a search for a long text,
 * which is nearly found again and again, would take time that grows with the product of both lengths.
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
