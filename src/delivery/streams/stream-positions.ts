import { hashOf } from '../../hash.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { OutboxNumber } from '../queue/outboxes.js'
import type { NoticeStream } from './notice-stream.js'
import type { StreamPosition } from './stream-position.js'

/** Digits that tell streams of this run from those before it. */
const runDigits = 6

/** The positions of the streams of one courier: those that it gives, and what those mean that clients name. */
export class StreamPositions {
  readonly #broker: string
  /** The number of the last notice of an outbox that has arrived. */
  readonly #known: (outbox: OutboxNumber) => NoticeNumber
  readonly #run = Math.floor(Math.random() * 36 ** runDigits)
    .toString(36)
    .padStart(runDigits, '0')
  #ordinal = 0

  constructor(brokerId: string, outboxes: number, known: (outbox: OutboxNumber) => NoticeNumber) {
    // The numbers of notices mean something else in a folder with other outboxes.
    this.#broker = `${brokerId} ${outboxes}`
    this.#known = known
  }

  /** How many notices were sent on all streams, with the one that is sent now. */
  nextOrdinal(): number {
    this.#ordinal += 1
    return this.#ordinal
  }

  /** The position of a stream behind the notice that is sent now. */
  at({ serial, group, position: sent }: NoticeStream, subscription: SubscriptionId): StreamPosition {
    const stream = `${this.#run}${serial.toString(36)}`
    const ofGroup = group === undefined ? undefined : new Map([[stream, this.#ordinal]])
    return { tag: this.#tagOf(subscription), ofGroup, sent }
  }

  /** Whether a position is one of a subscription of this broker. */
  isOf({ tag }: StreamPosition, subscription: SubscriptionId): boolean {
    return tag === this.#tagOf(subscription)
  }

  /**
   * What a position says of this courier. Nobody was sent what there has not been: a position that says so was made up, or comes
   * from data that were lost.
   */
  possible({ tag, ofGroup, sent }: StreamPosition): StreamPosition {
    const ofRun = [...(ofGroup ?? [])].filter(([stream]) => stream.startsWith(this.#run)).slice(0, 1)
    const bounded = ofRun.map(([stream, ordinal]) => [stream, ordinal <= this.#ordinal ? ordinal : 0] as const)
    const possible = [...sent].filter(([outbox, number]) => number <= this.#known(outbox))
    return { tag, ofGroup: ofGroup && new Map(bounded), sent: new Map(possible) }
  }

  /** Which stream a possible position is of; nothing for one that had all notices, and no number for one of another run. */
  serialOf({ ofGroup }: StreamPosition): number | undefined {
    if (ofGroup === undefined) return undefined
    const [stream] = ofGroup.keys()
    return stream === undefined ? Number.NaN : Number.parseInt(stream.slice(runDigits), 36)
  }

  #tagOf(subscription: SubscriptionId): string {
    return hashOf(this.#broker, subscription).toString(16).padStart(8, '0')
  }
}
