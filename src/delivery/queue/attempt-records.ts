import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { payloadShown, withoutValues } from '../../observe/log/secrets.js'
import type { Milliseconds } from '../../time.js'
import type { PastAttempt } from './courier-protocol.js'
import type { AttemptOutcome } from './outgoing.js'

/** Attempts that are remembered of a subscription. */
const mostOfOne = 16
/** Attempts that are remembered of all subscriptions: with the longest responses some 8 MiB. */
const mostOfAll = 16_384
/** Bytes that are kept of a receiver's response. */
export const keptResponse_bytes = 256

/** The body of a response, filled in when it has ended or was cut off. */
export interface ReceivedResponse {
  start?: ResponseStart
}

interface ResponseStart {
  /** A character for each byte, which takes least memory: most responses are never looked at. */
  readonly text: string
  /** Whether more has come than is kept. */
  readonly isCut: boolean
  /** What the request has of secrets, which the receiver may have sent back. */
  readonly secrets: readonly string[]
}

interface AttemptRecord {
  readonly at: Milliseconds
  readonly duration_ms: number
  readonly outcome: AttemptOutcome
  readonly response: ReceivedResponse | undefined
}

/** The last attempts of one subscription: a ring once it is full. */
interface Ring {
  readonly records: AttemptRecord[]
  /** The index of the oldest. */
  first: number
}

/**
 * The last attempts of each subscription since the courier began, for operators; nothing is decided by it. If there are too many in all,
 * those of the subscriptions whose last attempt was longest ago are forgotten.
 */
export class AttemptRecords {
  /** The one whose last attempt was longest ago first. */
  readonly #rings = new Map<SubscriptionId, Ring>()
  readonly #most: number
  #count = 0

  constructor(most = mostOfAll) {
    this.#most = most
  }

  /** An attempt has ended just now; its response may come afterwards. */
  ended(
    id: SubscriptionId,
    outcome: AttemptOutcome,
    duration_ms: number,
    at: Milliseconds,
    response?: ReceivedResponse,
  ): void {
    const record = { at: Math.round(at - duration_ms) as Milliseconds, duration_ms, outcome, response }
    const ring = this.#rings.get(id)
    if (ring === undefined) this.#rings.set(id, { records: [record], first: 0 })
    else {
      this.#rings.delete(id)
      this.#rings.set(id, ring)
      if (ring.records.length === mostOfOne) {
        ring.records[ring.first] = record
        ring.first = (ring.first + 1) % mostOfOne
        return
      }
      ring.records.push(record)
    }
    this.#count += 1
    if (this.#count > this.#most) this.#forgetLongestAgo()
  }

  /** The last attempts of a subscription, the newest first, without secrets. */
  of(id: SubscriptionId): readonly PastAttempt[] {
    const { records, first } = this.#rings.get(id) ?? { records: [], first: 0 }
    return [...records.slice(first), ...records.slice(0, first)].toReversed().map(shown)
  }

  /** A subscription has ended. */
  forget(id: SubscriptionId): void {
    this.#count -= this.#rings.get(id)?.records.length ?? 0
    this.#rings.delete(id)
  }

  #forgetLongestAgo(): void {
    for (const id of this.#rings.keys()) return void this.forget(id)
  }
}

function shown({ at, duration_ms, outcome, response }: AttemptRecord): PastAttempt {
  const { kind: result, status } = outcome
  return {
    ...{ at, duration_ms, result },
    ...(status !== undefined && { status }),
    ...(outcome.kind !== 'accepted' && status === undefined && { reason: outcome.reason }),
    ...(response?.start !== undefined && { response: responseShown(response.start) }),
  }
}

/** The start of a response as text: what is not UTF-8, and every control character, is a replacement character. */
function responseShown({ text, isCut, secrets }: ResponseStart): string {
  // With `stream`, a character that was cut is left out.
  const decoded = new TextDecoder().decode(Buffer.from(text, 'latin1'), { stream: isCut })
  const visible = decoded.replace(/[^\P{Cc}\t\r\n]/gu, '\ufffd')
  return payloadShown(withoutValues(visible, secrets, isCut), keptResponse_bytes, isCut)
}
