import type { EntityType } from '../context/entity.js'
import type { ElementFailure, UpdateElement, UpdateReply } from '../context/update.js'
import type { LostBatch, Posted } from '../mailbox/mailbox.js'
import type { FailedReply, RawUpdateReply, Reply } from '../partition/commands.js'
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
    const reply = replyOrFailure(result, isUpdated)
    if (typeof reply === 'object') replies.push(reply)
    else {
      failures.push(reply)
      replies.push(failedReply(elements[at], reply))
    }
    if (replies.length % repliesAtOnce === 0) yield
  }
  const refused = refusalOfWhole(failures, replies.length)
  return refused.ok ? ok(replies) : refused
}

/** The reply to a raw update, or why there is none. */
export function rawReplyOrFailure(result: Result<Posted, LostBatch>): RawUpdateReply | ElementFailure {
  return replyOrFailure(result, isRaw)
}

/** The reply to an element that failed while others of its request were carried out. */
export function failedReply(element: Pick<UpdateElement, 'id' | 'type'> | undefined, why: ElementFailure): UpdateReply {
  if (element === undefined) throw new Error('there is a result without an element')
  const { id, type = '' as EntityType } = element
  return { items: [{ id, type, refusal: { kind: 'unavailable', why } }], missing: [] }
}

/**
 * Whether an update is refused as a whole: when all of the elements that were sent have failed. A fault is not a reply: it
 * is logged and reported as every other one.
 */
export function refusalOfWhole(failures: readonly ElementFailure[], sent: number): Result<undefined, Unavailable> {
  const [first] = failures
  if (first === undefined || failures.length < sent) return ok(undefined)
  const why = failures.includes('outcomeUnknown') ? 'outcomeUnknown' : first
  if (why === 'fault') throw new Error('the partition failed at an update; its log says why')
  return err({ kind: why })
}

function replyOrFailure<Expected extends Reply>(
  result: Result<Posted, LostBatch>,
  isExpected: (reply: Reply) => reply is Expected,
): Expected | ElementFailure {
  if (!result.ok) return result.error.kind
  const { reply } = result.value
  if (isExpected(reply)) return reply
  return reply.kind === 'failed' ? whyFailed(reply) : 'fault'
}

/** What belongs to another node was not carried out here. */
export function whyFailed({ why }: FailedReply): ElementFailure {
  return why === 'notOwner' || why === 'late' ? 'partitionLost' : why
}

function isUpdated(reply: Reply): reply is Extract<Reply, { kind: 'updated' }> {
  return reply.kind === 'updated'
}

function isRaw(reply: Reply): reply is RawUpdateReply {
  return reply.kind === 'rawUpdate'
}
