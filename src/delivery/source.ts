import type { DeliveryStats, NoticeAck, NoticeNumber, NumberedNotice, StoredNotice } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'

/** The number of an outbox: that of its partition; the coordinator's comes after those of the partitions. */
export type SourceNumber = number

/** A notice as it joins the queue of its subscription. */
export interface Arrived {
  readonly source: SourceNumber
  readonly numbered: NumberedNotice
  /** When it was made, by the steady clock of this thread. */
  readonly since_ms: number
  /** Whether an attempt was made before this courier was there. */
  readonly tried: boolean
}

/** Whether an outbox is this node's, where it may be that of another one: its partition's owner sends what it holds, and nobody else. */
export interface SourceOwner {
  /** Another one for each time that this node has come to own it; 0 while it does not. */
  readonly epoch: number
  /** Whether nobody else can have come to own it by now. */
  isConfirmed(): boolean
}

/** An outbox as its courier sees it: read from snapshots, written by its owner. */
export interface Source {
  /** Nothing of an outbox that is always this node's. */
  readonly owner?: SourceOwner | undefined
  /** From now on reads see everything that was on disk when this was called. */
  refresh(): void
  /** The number of the last notice that was ever put in. */
  last(): NoticeNumber
  /** The notices after a number, in order, at most `limit`; fewer where they are large, none only where there are none. */
  after(number: NoticeNumber, limit: number): readonly NumberedNotice[]
  /** The notice of a number, if it is there; one that is damaged can not be sent. */
  at(number: NoticeNumber): StoredNotice | 'damaged' | undefined
  stats(): Iterable<readonly [SubscriptionId, DeliveryStats]>
  /** The stats of one subscription, if it has some here. */
  statsOf(id: SubscriptionId): DeliveryStats | undefined
  /**
   * Asks the owner to store what became of notices: true when it is on disk, false when it was refused or may not have
   * been done. It may be asked again: acks say how things stand, not what to change.
   */
  ack(acks: readonly NoticeAck[]): Promise<boolean>
  close(): Promise<void>
}

/**
 * An outbox that reads as an empty one as soon as it is being closed. A courier that ends leaves passes and questions behind that are in
 * the middle of reading: what they find then goes nowhere, since nothing is sent or acked any more.
 */
export function readUntilClosed(source: Source): Source {
  let isClosed = false
  return {
    owner: source.owner,
    refresh: () => {
      if (!isClosed) source.refresh()
    },
    last: () => (isClosed ? 0 : source.last()),
    after: (number, limit) => (isClosed ? [] : source.after(number, limit)),
    at: (number) => (isClosed ? undefined : source.at(number)),
    stats: () => (isClosed ? [] : source.stats()),
    statsOf: (id) => (isClosed ? undefined : source.statsOf(id)),
    ack: (acks) => source.ack(acks),
    close: () => {
      isClosed = true
      return source.close()
    },
  }
}
