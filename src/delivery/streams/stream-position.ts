import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { OutboxNumber } from '../queue/outboxes.js'

/**
 * How far a client has read the stream of a subscription: what the `id` of an event says. It needs nobody's memory, so that a
 * client goes on where it was after the broker was killed.
 */
export interface StreamPosition {
  /** Of the broker, its outboxes and the subscription: what another one has said means nothing here. */
  readonly tag: string
  /**
   * Where several share the notices: the stream of each courier, and how many that had sent by then, on all streams; nothing where
   * one gets all.
   */
  readonly ofGroup: ReadonlyMap<string, number> | undefined
  /** For each outbox the number of the last notice that was sent on the stream. */
  readonly sent: ReadonlyMap<OutboxNumber, NoticeNumber>
}

const form = /^(?<tag>[\da-f]{8})(?<streams>(?:-g[\da-z]{1,24}_\d{1,15}){0,64})(?<sent>(?:\.\d{1,5}-\d{1,15}){1,512})$/

/** Longer texts are none. */
const longest = 16_384

/** Reads the id of an event; nothing when the text is none that a broker has given. */
export function positionOfId(text: string): StreamPosition | undefined {
  const { tag, streams = '', sent } = (text.length <= longest && form.exec(text)?.groups) || {}
  if (tag === undefined || sent === undefined) return undefined
  const numbers = new Map<OutboxNumber, NoticeNumber>()
  for (const each of sent.slice(1).split('.')) {
    const [outbox = '', number = ''] = each.split('-')
    numbers.set(Number(outbox), Number(number))
  }
  const ofGroup = new Map<string, number>()
  for (const each of streams.split('-g').slice(1)) {
    const [stream = '', ordinal = ''] = each.split('_')
    ofGroup.set(stream, Number(ordinal))
  }
  return { tag, ofGroup: ofGroup.size === 0 ? undefined : ofGroup, sent: numbers }
}

/** The id of an event. The number of its own notice comes first, as it stands in `Rigel-Notification-Id`. */
export function idOfPosition({ tag, ofGroup, sent }: StreamPosition, own: OutboxNumber): string {
  let text = tag
  for (const [stream, ordinal] of ofGroup ?? []) text += `-g${stream}_${ordinal}`
  text += `.${own}-${sent.get(own) ?? 0}`
  for (const [outbox, number] of sent) if (outbox !== own) text += `.${outbox}-${number}`
  return text
}
