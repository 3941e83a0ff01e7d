import type { Log } from '../log/log.js'
import type { NoticeMessage, NoticeRenderer, StoredNotice } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Recipient } from './message.js'
import type { QueuedNotice } from './notice-list.js'
import type { Source } from './source.js'

/** A notice as it can be sent, or why it can not be. */
export type PreparedNotice =
  | { readonly kind: 'ready'; readonly notice: StoredNotice; readonly body: string }
  /** It is not in its outbox any more. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'damaged'; readonly reason: string }
  /** Its template made nothing that could be sent. */
  | { readonly kind: 'undeliverable'; readonly why: NonNullable<NoticeMessage['undeliverable']> }

interface PreparingParts {
  readonly sources: readonly Source[]
  /** Renders the bodies that were not rendered when their change was made. */
  readonly word: NoticeRenderer
}

/** Reads a notice from its outbox and renders its body, if that was not done when its change was made. */
export function preparedNotice(
  { sources, word }: PreparingParts,
  { source, number }: Pick<QueuedNotice, 'source' | 'number'>,
  { id, attributes }: Recipient,
): PreparedNotice {
  const notice = sources[source]?.at(number)
  if (notice === undefined) return { kind: 'missing' }
  if (notice === 'damaged') return { kind: 'damaged', reason: `notice ${number} cannot be read` }
  if (notice.message?.undeliverable !== undefined) return { kind: 'undeliverable', why: notice.message.undeliverable }
  return { kind: 'ready', notice, body: notice.body ?? word({ id, attributes }, [notice.entity]) }
}

/** A template has made nothing that could be sent: that is told once for each notice. */
export function tellOfDrop(
  log: Log,
  subscription: SubscriptionId,
  { level, reason }: NonNullable<NoticeMessage['undeliverable']>,
): void {
  const message = `a notification of subscription ${subscription} is dropped: ${reason}`
  log[level]('notif:drop', message, { subscription })
}
