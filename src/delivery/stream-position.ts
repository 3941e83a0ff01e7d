import type { NoticeNumber } from '../subscription/notice.js'
import type { SourceNumber } from './source.js'

/**
 * How far a client has read the stream of a subscription: what the `id` of an event says. It needs nobody's memory, so that a
 * client goes on where it was after the broker was killed.
 */
export interface StreamPosition {
  /** Of the broker, its outboxes and the subscription: what another one has said means nothing here. */
  readonly tag: string
  /** Where several share the notices: the stream, and how many had been sent by then, on all streams; nothing where one gets all. */
  readonly ofGroup: { readonly stream: string; readonly ordinal: number } | undefined
  /** For each outbox the number of the last notice that was sent on the stream. */
  readonly sent: ReadonlyMap<SourceNumber, NoticeNumber>
}

const form =
  /^(?<tag>[\da-f]{8})(?:-g(?<stream>[\da-z]{1,24})_(?<ordinal>\d{1,15}))?(?<sent>(?:\.\d{1,5}-\d{1,15}){1,512})$/

/** Longer texts are none. */
const longest = 16_384

/** Reads the id of an event; nothing when the text is none that a broker has given. */
export function positionOfId(text: string): StreamPosition | undefined {
  const { tag, stream, ordinal, sent } = (text.length <= longest && form.exec(text)?.groups) || {}
  if (tag === undefined || sent === undefined) return undefined
  const numbers = new Map<SourceNumber, NoticeNumber>()
  for (const each of sent.slice(1).split('.')) {
    const [source = '', number = ''] = each.split('-')
    numbers.set(Number(source), Number(number))
  }
  return { tag, ofGroup: stream === undefined ? undefined : { stream, ordinal: Number(ordinal) }, sent: numbers }
}

/** The id of an event. The number of its own notice comes first, as it stands in `Rigel-Notification-Id`. */
export function idOfPosition({ tag, ofGroup, sent }: StreamPosition, own: SourceNumber): string {
  let text = ofGroup === undefined ? tag : `${tag}-g${ofGroup.stream}_${ofGroup.ordinal}`
  text += `.${own}-${sent.get(own) ?? 0}`
  for (const [source, number] of sent) if (source !== own) text += `.${source}-${number}`
  return text
}
