import { StepBudget } from '../../model/context/step-budget.js'
import type { BodyRenderer, Undeliverable } from '../../model/subscription/message.js'
import type { NoticeRenderer, NumberedNotice, StoredNotice } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { streamReference } from '../../model/subscription/targets.js'
import type { FrequentEvents } from '../../observe/log/frequent-event.js'
import type { Log } from '../../observe/log/log.js'
import { err, ok, type Result } from '../../result.js'
import type { Recipient } from '../queue/courier-protocol.js'
import type { QueuedNotice } from '../queue/notice-list.js'
import type { Outboxes, OutboxNumber } from '../queue/outboxes.js'
import type { Unsendable } from '../queue/outgoing.js'
import { headersOf, messageSize } from './request.js'

/** What decides how long a notification is, and how long it may be. */
export interface MessageLimits {
  /** Names this broker in the notifications [subscriptions 8.4]. */
  readonly brokerId: string
  /** Bytes of a notification as it is sent, head and body. */
  readonly maxSize: number
}

export interface PreparingParts extends MessageLimits {
  readonly outboxes: Outboxes
  /** Renders the bodies that were not rendered when their change was made: in the form of NGSIv1, and in those of NGSIv2. */
  readonly render: NoticeRenderer
  readonly body: BodyRenderer
  readonly log: Log
  /** What is told of the notifications of each subscription, by subscription. */
  readonly told: { readonly dropped: FrequentEvents; readonly steps: FrequentEvents }
}

/** A notice as it can be sent, by an attempt or on a stream. */
export interface ReadyNotice {
  readonly kind: 'ready'
  readonly notice: StoredNotice
  readonly url: string
  /** Names and values in turn; none over MQTT. */
  readonly headers: readonly string[]
  readonly body: string
}

/** Reads a notice from its outbox and renders its body, if that was not done when its change was made. */
export function preparedNotice(
  parts: PreparingParts,
  { outbox, number }: Pick<QueuedNotice, 'outbox' | 'number'>,
  recipient: Recipient,
): ReadyNotice | Unsendable {
  const { outboxes, maxSize, brokerId } = parts
  const notice = outboxes.all[outbox]?.at(number)
  if (notice === undefined) return { kind: 'missing' }
  if (notice === 'damaged') return { kind: 'unsendable', reason: `notice ${number} cannot be read` }
  const undeliverable = notice.message?.undeliverable
  const rendered = undeliverable === undefined ? bodyOf(notice, recipient, parts) : err(undeliverable)
  if (!rendered.ok) {
    tellOfDrop(parts, recipient.id, rendered.error)
    return { kind: 'unsendable' }
  }
  const url = urlOf(notice, recipient)
  const headers = recipient.terms?.target.kind === 'mqtt' ? [] : headersOf(notice, outbox, number, brokerId)
  const body = rendered.value
  if (notice.body !== undefined) return { kind: 'ready', notice, url, headers, body }
  const reason = tooLong(messageSize(url, headers, Buffer.byteLength(body)), maxSize)
  return reason === undefined ? { kind: 'ready', notice, url, headers, body } : { kind: 'unsendable', reason }
}

/** Unlike other drops these are told of again, since each notice may have a reason of its own. */
function tellOfDrop({ log, told }: PreparingParts, id: SubscriptionId, { level, reason }: Undeliverable): void {
  const number = told.dropped.happened(id)
  if (number === undefined) return
  const text =
    number === 1
      ? `a notification of subscription ${id} is dropped: ${reason}`
      : `${number} notifications of subscription ${id} are dropped (the last one: ${reason})`
  log[level]('notif:drop', text, { subscription: id })
}

function bodyOf(
  notice: StoredNotice,
  { id, attributes }: Recipient,
  { render, body, log, told }: Pick<PreparingParts, 'render' | 'body' | 'log' | 'told'>,
): Result<string, Undeliverable> {
  if (notice.body !== undefined) return ok(notice.body)
  if ('entity' in notice) return ok(render({ id, attributes }, [notice.entity]))
  const { shown, terms, token, service } = notice
  const budget = new StepBudget(shown.steps)
  const rendered = body(terms, shown.change, { time: shown.time, origin: { token, service } }, budget)
  if (budget.isSpent && told.steps.happened(id) !== undefined) {
    const { entity } = shown.change
    const what = `the template of subscription ${id} takes too long for ${entity.id} (${entity.type})`
    log.warn('subscriptions:steps', `${what}: if it needs more than ${shown.steps} steps, its macros are null`, {
      subscription: id,
    })
  }
  return rendered
}

/** A notification is at most this much longer than its record on disk, by the names of headers and their constant parts. */
const headSpare_bytes = 1024

/** Why a notice whose body is rendered is too long to be sent to a recipient; undefined of any other notice. */
export function tooLongFor(
  recipient: Recipient,
  outbox: OutboxNumber,
  { number, notice, size_bytes, body_bytes }: NumberedNotice,
  { maxSize, brokerId }: MessageLimits,
): string | undefined {
  const url = urlOf(notice, recipient)
  if (body_bytes === undefined || size_bytes + url.length + headSpare_bytes <= maxSize) return undefined
  return tooLong(messageSize(url, headersOf(notice, outbox, number, brokerId), body_bytes), maxSize)
}

function tooLong(size_bytes: number, maxSize: number): string | undefined {
  return size_bytes > maxSize ? `${size_bytes} bytes are more than a notification may have` : undefined
}

/** Where a notice goes: as its message says, else as its subscription does now. */
function urlOf({ message }: Pick<StoredNotice, 'message'>, { reference }: Recipient): string {
  return reference === streamReference ? reference : (message?.url ?? reference)
}
