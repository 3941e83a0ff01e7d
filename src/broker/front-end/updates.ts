import { shardOf } from '../../hash.js'
import type { EntityId, EntityType, Tenant } from '../../model/context/entity.js'
import type { ElementFailure, UpdateCommand, UpdateElement, UpdateReply } from '../../model/context/update.js'
import type { Log } from '../../observe/log/log.js'
import { traceArea } from '../../observe/log/trace.js'
import type { RequestMeter } from '../../observe/measure/request-counters.js'
import type { TimingStage } from '../../observe/measure/requests.js'
import type { OperationTimes } from '../../observe/measure/slow-requests.js'
import { type Addressed, askAll } from '../../partition/mailbox/ask-all.js'
import type { LostBatch, MailboxRefusal, Posted } from '../../partition/mailbox/batch.js'
import type { BoundedMailbox } from '../../partition/mailbox/bounded-mailbox.js'
import type { FailedReply, RawUpdateCommand, RawUpdateReply, Reply } from '../../partition/turn/commands.js'
import { err, ok, type Result } from '../../result.js'
import { atOnce, inSlices, mapInSlices, type Steps } from '../../slices.js'
import type { Sequence, SequenceCounter } from '../../threads/shared-memory/sequences.js'
import { type Milliseconds, now } from '../../time.js'
import type { Client } from '../operations/api.js'
import type { RawElements, RawUpdate } from './broker.js'
import type { Unavailable } from './unavailable.js'

export interface UpdatesParts {
  /** One per partition, in the order of their numbers. */
  readonly mailboxes: readonly BoundedMailbox[]
  readonly sequences: SequenceCounter
  readonly timing: Pick<RequestMeter, 'timingOn' | 'stage'>
  readonly log: Log
}

/** As which stage it is timed that a partition parses a raw update [management 4.5]. */
type ParseStage = Extract<TimingStage, 'jsonV1Parse' | 'jsonV2Parse'>

/** Sends updates to the partitions of their entities, as commands with a time and a sequence. */
export class Updates {
  readonly #parts: UpdatesParts

  constructor(parts: UpdatesParts) {
    this.#parts = parts
  }

  async update(
    elements: readonly UpdateElement[],
    client?: Client,
  ): Promise<Result<readonly UpdateReply[], Unavailable>> {
    const time = now()
    const [first] = elements
    const sent =
      first && elements.length === 1
        ? await this.#updateOne(first, time)
        : await this.#askAll(elements, (element) => this.#addressed(element, time))
    if (!sent.ok) return sent
    noteTurns(sent.value, client?.times)
    if (this.#parts.timing.timingOn) this.#timeTurns(sent.value, client)
    const replies = repliesOf(elements, sent.value)
    return elements.length === 1 ? atOnce(replies) : inSlices(replies)
  }

  rawUpdate(update: RawUpdate, client?: Client): Promise<Result<RawUpdateReply, Unavailable>> {
    const { tenant, path, id, body, flags, target, origin } = update
    const sequence = this.#parts.sequences.next()
    const command = { kind: 'rawUpdate', sequence, time: now(), tenant, path, body, flags, target, origin } as const
    return this.#mailbox(tenant, id)
      .ask(command)
      .then((result) => this.#rawReply(result, parseStageOf(target), client))
  }

  async rawElements(
    update: RawElements,
    client?: Client,
  ): Promise<Result<readonly (RawUpdateReply | ElementFailure)[], MailboxRefusal>> {
    const { tenant, path, elements, flags, target, origin } = update
    const time = now()
    const sent = await this.#askAll(elements, ({ id, text }) => {
      const sequence = this.#parts.sequences.next()
      const command = { kind: 'rawUpdate', sequence, time, tenant, path, body: text, flags, target, origin } as const
      return { mailbox: this.#mailbox(tenant, id), command }
    })
    if (!sent.ok) return sent
    noteTurns(sent.value, client?.times)
    if (this.#parts.timing.timingOn) this.#timeTurns(sent.value, client, parseStageOf(target))
    const replies = mapInSlices(sent.value, rawReplyOrFailure)
    return ok(replies instanceof Promise ? await replies : replies)
  }

  async #updateOne(element: UpdateElement, time: Milliseconds): Promise<Result<Replied, MailboxRefusal>> {
    const { mailbox, command } = this.#addressed(element, time)
    const result = await mailbox.ask(command)
    return result.ok ? ok([result]) : result
  }

  /** Every command is made before the first one is sent. */
  async #askAll<Element>(
    elements: readonly Element[],
    address: (element: Element) => Addressed,
  ): Promise<Result<Replied, MailboxRefusal>> {
    const addressed = mapInSlices(elements, address)
    return askAll(addressed instanceof Promise ? await addressed : addressed)
  }

  #addressed(element: UpdateElement, time: Milliseconds): Addressed {
    const command = commandOf(element, this.#parts.sequences.next(), time)
    return { mailbox: this.#mailbox(element.tenant, element.id), command }
  }

  #mailbox(tenant: Tenant, id: EntityId): BoundedMailbox {
    const { mailboxes, log } = this.#parts
    const partition = shardOf(tenant, id, mailboxes.length)
    if (log.traces[traceArea['service.partition']] === 1) {
      log.trace('service.partition', `${id} belongs to partition ${partition}`, { owner: partition })
    }
    const mailbox = mailboxes[partition]
    if (!mailbox) throw new Error('there is no partition for the id')
    return mailbox
  }

  #rawReply(
    result: Result<Posted, MailboxRefusal>,
    parseStage: ParseStage,
    client: Client | undefined,
  ): Result<RawUpdateReply, Unavailable> {
    if (!result.ok) return result
    const { reply, turn, entered } = result.value
    client?.times?.turn(entered, turn)
    if (reply.kind !== 'rawUpdate') return failed(reply)
    if (this.#parts.timing.timingOn) this.#timeTurns([result], client, parseStage)
    return ok(reply)
  }

  /**
   * Elements of one request that share a turn share its cost; the longest turn is what the request took. What partitions
   * parsed and rendered for it in that time is counted where it belongs.
   */
  #timeTurns(outcomes: Replied, client: Client | undefined, parseStage: ParseStage = 'jsonV1Parse'): void {
    const { timing } = this.#parts
    const request = client?.timed
    let [decided_ns, committed_ns, parse_ns, render_ns, isRaw] = [0, 0, 0, 0, false]
    for (const result of outcomes) {
      if (!result.ok) continue
      const { reply, turn } = result.value
      decided_ns = Math.max(decided_ns, turn.decided_ns)
      committed_ns = Math.max(committed_ns, turn.committed_ns)
      if (reply.kind !== 'rawUpdate' || reply.spent === undefined) continue
      isRaw = true
      parse_ns += reply.spent.parse_ns
      render_ns += reply.spent.render_ns
    }
    if (isRaw) {
      timing.stage(parseStage, BigInt(parse_ns), request)
      timing.stage('render', BigInt(render_ns), request)
    }
    timing.stage('mongoBackend', BigInt(Math.max(0, decided_ns - parse_ns - render_ns)), request)
    timing.stage('mongoWriteWait', BigInt(committed_ns), request)
  }
}

function parseStageOf(target: RawUpdateCommand['target']): ParseStage {
  return target === undefined ? 'jsonV1Parse' : 'jsonV2Parse'
}

function noteTurns(outcomes: Replied, times: OperationTimes | undefined): void {
  if (times === undefined) return
  for (const result of outcomes) if (result.ok) times.turn(result.value.entered, result.value.turn)
}

/** Written member by member: a spread would make a slow object of it, for every update. */
function commandOf(element: UpdateElement, sequence: Sequence, time: Milliseconds): UpdateCommand {
  const { tenant, path, id, type, action, attributes, autocast, terms, origin } = element
  return { kind: 'update', sequence, time, tenant, path, id, type, action, attributes, autocast, terms, origin }
}

/** Full storage and a record that is too large are refusals; everything else that is no reply to what was asked is a fault. */
function failed(reply: Reply): Result<never, Unavailable> {
  const why = reply.kind === 'failed' ? whyFailed(reply) : 'fault'
  if (why !== 'fault') return err({ kind: why })
  throw new Error(`the partition answered an update with ${reply.kind}; its log may say why`)
}

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
  const whole = refusalOfWhole(failures, replies.length)
  return whole.ok ? ok(replies) : whole
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
function whyFailed({ why }: FailedReply): ElementFailure {
  return why === 'notOwner' || why === 'late' ? 'partitionLost' : why
}

function isUpdated(reply: Reply): reply is Extract<Reply, { kind: 'updated' }> {
  return reply.kind === 'updated'
}

function isRaw(reply: Reply): reply is RawUpdateReply {
  return reply.kind === 'rawUpdate'
}
