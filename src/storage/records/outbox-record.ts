import type { ServicePath, Tenant } from '../../model/context/entity.js'
import type { Provisional } from '../../model/subscription/decisions.js'
import type { BodilessMessage, NoticeMessage } from '../../model/subscription/message.js'
import {
  type Notice,
  type NoticeHead,
  type NoticeNumber,
  type OrderingKey,
  type PackedToken,
  packedToken,
  unpackedToken,
} from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Milliseconds } from '../../time.js'
import { encodeTerms, heldTerms, type StoredTerms } from './change-record.js'

/** The parts that all notices of one change have in common. */
type CommonHead = readonly [
  orderingKey: readonly [kind: OrderingKey['kind'], key?: string],
  made: number,
  tenant: string,
  paths: readonly string[],
  correlator: string,
  token: PackedToken,
]

/** The head before the body: a JSON array on a line of its own. Everything below is part of the format on disk. */
type StoredHead = readonly [
  subscription: string,
  ...common: CommonHead,
  /** 0 for none where something follows. */
  after?: readonly number[] | 0,
  /** The empty text for none where something follows. */
  via?: string,
  /** 0 for none where something follows. */
  message?: NoticeMessage | 0,
  provisional?: readonly [change: number, by: Provisional['by']],
]

/** A message of a group, as `encodeMessage` writes it. */
type StoredMessage = readonly [correlator: string, message: NoticeMessage | 0, terms: StoredTerms]

/**
 * The notices of one change to some subscriptions: their numbers follow each other from that of the group on, and one
 * that has left is 0. The entity that they show, or with messages the change, lies at the number `shown`, and takes `shown_bytes`.
 */
type StoredGroup = readonly [
  subscriptions: readonly (string | 0)[],
  ...common: CommonHead,
  shown: number,
  shown_bytes: number,
  /** The empty text for none where something follows. */
  via?: string,
  /** The messages in the forms of NGSIv2. */
  messages?: readonly StoredMessage[],
]

/** A group of notices with what they have in common. */
export interface NoticeGroup {
  readonly first: NoticeNumber
  /** `undefined` stands for a notice that has left. */
  readonly subscriptions: readonly (SubscriptionId | undefined)[]
  readonly common: Omit<NoticeHead, 'subscription'>
  /** The messages by subscription, in the forms of NGSIv2. */
  readonly messages?: readonly BodilessMessage[] | undefined
  /** The number under which the entity, or with messages the change, is stored. */
  readonly shown: NoticeNumber
  readonly shown_bytes: number
}

/** The text that is stored for a notice with a body of its own. */
export function encodeNotice(notice: Notice): string {
  return `${JSON.stringify(storedHead(notice))}\n${notice.body}`
}

function storedHead(notice: Notice): StoredHead {
  const { subscription, after, via, message, provisional } = notice
  const head = [subscription, ...commonOf(notice)] as const
  if (provisional) {
    return [...head, after ?? 0, via ?? '', message ?? 0, [provisional.change, provisional.by]]
  }
  if (message) return [...head, after ?? 0, via ?? '', message]
  if (via) return [...head, after ?? 0, via]
  return after === undefined ? head : [...head, after]
}

/** The notice that `encodeNotice` wrote. */
export function decodeNotice(text: string): Notice {
  const { notice, end } = decodeHead(text)
  return { ...notice, body: text.slice(end + 1) }
}

/** The head of the notice that `encodeNotice` wrote, its length in bytes with the end of its line, and where in the text that is. */
export function decodeHead(text: string): {
  readonly notice: NoticeHead
  readonly head_bytes: number
  readonly end: number
} {
  const end = text.indexOf('\n')
  const head = text.slice(0, end)
  const [subscription, ...rest] = JSON.parse(head) as StoredHead
  const [orderingKey, made, tenant, paths, correlator, token, after, via, message, provisional] = rest
  if (end < 0 || typeof subscription !== 'string' || typeof made !== 'number') throw new Error('it is no notice')
  const notice = {
    subscription: subscription as SubscriptionId,
    ...heldCommon([orderingKey, made, tenant, paths, correlator, token]),
    via: via || undefined,
    message: message || undefined,
    after: after || undefined,
    ...(provisional && { provisional: { change: provisional[0], by: provisional[1] } }),
  }
  return { notice, head_bytes: Buffer.byteLength(head) + 1, end }
}

/** The text that is stored for a group; messages are those of `encodeMessage`. */
export function encodeGroup({
  subscriptions,
  common,
  messages,
  shown,
  shown_bytes,
}: Omit<NoticeGroup, 'first' | 'messages'> & { readonly messages?: readonly string[] | undefined }): string {
  const ids = subscriptions.map((id) => id ?? 0)
  const head = [ids, ...commonOf(common), shown, shown_bytes] as const
  const stored: StoredGroup = messages || common.via ? [...head, common.via ?? ''] : head
  const text = JSON.stringify(stored)
  return messages ? `${text.slice(0, -1)},[${messages.join(',')}]]` : text
}

/** The text that is stored for a message of a group: templates may be long, so it is made once. */
export function encodeMessage({ correlator, message, terms }: BodilessMessage): string {
  return `[${JSON.stringify(correlator)},${JSON.stringify(message ?? 0)},${encodeTerms(terms)}]`
}

/** The group that `encodeGroup` wrote. */
export function decodeGroup(first: NoticeNumber, text: string): NoticeGroup {
  const [ids, orderingKey, made, tenant, paths, correlator, token, shown, shown_bytes, via, messages] = JSON.parse(
    text,
  ) as StoredGroup
  if (!Array.isArray(ids) || typeof made !== 'number' || typeof shown !== 'number') throw new Error('it is no group')
  return {
    first,
    subscriptions: ids.map((id) => (id === 0 ? undefined : (id as SubscriptionId))),
    common: { ...heldCommon([orderingKey, made, tenant, paths, correlator, token]), via: via || undefined },
    ...(messages && {
      messages: messages.map(([own, message, terms], at) => ({
        ...{ correlator: own, message: message || undefined },
        // The terms of a notice that has left are not read.
        terms: heldTerms((ids[at] || '') as SubscriptionId, terms),
      })),
    }),
    shown,
    shown_bytes,
  }
}

function commonOf({
  orderingKey,
  made,
  tenant,
  paths,
  correlator,
  token,
  service,
}: Omit<NoticeHead, 'subscription'>): CommonHead {
  const where =
    orderingKey.kind === 'entity' ? ([orderingKey.kind, orderingKey.key] as const) : ([orderingKey.kind] as const)
  return [where, made, tenant, paths, correlator, packedToken({ token, service }, tenant)]
}

function heldCommon([[kind, key = ''], made, tenant, paths, correlator, packed]: CommonHead) {
  const [token, service] = unpackedToken(packed, tenant)
  const orderingKey: OrderingKey = kind === 'entity' ? { kind, key } : { kind }
  return {
    orderingKey,
    made: made as Milliseconds,
    tenant: tenant as Tenant,
    paths: paths as readonly ServicePath[],
    correlator,
    token,
    ...(service !== undefined && { service }),
  }
}
