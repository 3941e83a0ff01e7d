import type { EntityType } from '../context/entity.js'
import type { ElementFailure, UpdateElement, UpdateReply } from '../context/update.js'
import type { LostBatch, Posted } from '../mailbox/mailbox.js'
import { err, ok, type Result } from '../result.js'
import type { Steps } from '../slices.js'
import type { Unavailable } from './unavailable.js'

/** What became of the commands of one update, in their order. */
export type Replied = readonly Result<Posted, LostBatch>[]

/** Replies that are looked at before somebody may look at the clock. */
const repliesAtOnce = 256

/**
 * The replies to the elements of one update. It is refused as a whole when nothing of it was carried out, or nobody knows;
 * otherwise the elements that failed say so, each for itself, beside those that were carried out.
 */
export function* repliesOf(
  elements: readonly UpdateElement[],
  outcomes: Replied,
): Steps<Result<readonly UpdateReply[], Unavailable>> {
  const replies: UpdateReply[] = []
  const failures: ElementFailure[] = []
  for (const [at, result] of outcomes.entries()) {
    const reply = replyOrFailure(result)
    if (typeof reply === 'object') replies.push(reply)
    else {
      failures.push(reply)
      replies.push(failedReply(elements[at], reply))
    }
    if (replies.length % repliesAtOnce === 0) yield
  }
  const [first] = failures
  if (first === undefined || failures.length < replies.length) return ok(replies)
  return whole(failures.includes('outcomeUnknown') ? 'outcomeUnknown' : first)
}

function replyOrFailure(result: Result<Posted, LostBatch>): UpdateReply | ElementFailure {
  if (!result.ok) return result.error.kind
  const { reply } = result.value
  if (reply.kind === 'updated') return reply
  return reply.kind === 'failed' ? reply.why : 'fault'
}

function failedReply(element: UpdateElement | undefined, why: ElementFailure): UpdateReply {
  if (element === undefined) throw new Error('there is an result without an element')
  const { id, type = '' as EntityType } = element
  return { items: [{ id, type, refusal: { kind: 'unavailable', why } }], missing: [] }
}

/** A fault is not a reply: it is logged and reported as every other one. */
function whole(why: ElementFailure): Result<never, Unavailable> {
  if (why === 'fault') throw new Error('the partition failed at an update; its log says why')
  return err({ kind: why })
}
