import { type LostBatch, type Posted, untilShare } from '../../partition/mailbox/mailbox.js'
import { err, ok, type Result } from '../../result.js'
import type { SentOutcome } from './batch-route.js'
import { commandsMost } from './command-batch.js'

/** A command in the mailbox. */
export interface Entry {
  /** The how manieth it is in this mailbox. */
  readonly number: number
  /** When whoever has asked waits no more. */
  readonly until_ms: number
  /** How often it was sent on to a node that another one had named. */
  readonly sentOn: number
}

interface SentBatch {
  readonly number: number
  /** In the order in which they were sent; nothing in the place of one that is waited for no more, or has its outcome. */
  readonly entries: readonly (Entry | undefined)[]
  /** How many have no outcome, whether they are waited for or not. */
  readonly open: number
  /** Outcomes have come: what has none is deferred. Such a batch keeps no other one from being sent. */
  readonly isAnswered: boolean
}

/** A way to a node, from when it is asked for until nothing that was sent on it is waited for. */
interface Way {
  readonly number: number
  readonly to: string
  /** Nothing more is sent on one that is left: another one is opened when all that is under way has an outcome. */
  readonly phase: 'opening' | 'open' | 'leaving'
  /** See `OpenedWay`; 0 until it is opened. */
  readonly epoch: number
  readonly batchesMost: number
  /** The node has refused something, so nothing that follows it on this way is carried out. */
  readonly isRefused: boolean
  readonly underWay: readonly SentBatch[]
}

/** A command whose way has broken: it may still be carried out by that node, in that tenure. */
interface Unanswered {
  readonly entry: Entry
  readonly to: string
  readonly epoch: number
}

/** What is in the mailbox of a partition that has moved, or may move, between nodes. */
export interface RemoteQueue {
  /** In their order. Nothing of them is under way anywhere. */
  readonly waiting: readonly Entry[]
  readonly unanswered: readonly Unanswered[]
  readonly way: Way | undefined
  /** How many ways, and batches, there have been. */
  readonly ways: number
  readonly batches: number
  /** The owner that another node has named, until the routes change. */
  readonly named: string | undefined
  readonly avoided: { readonly node: string; readonly until_ms: number } | undefined
  readonly isClosed: boolean
}

export const emptyQueue: RemoteQueue = {
  waiting: [],
  unanswered: [],
  way: undefined,
  ways: 0,
  batches: 0,
  named: undefined,
  avoided: undefined,
  isClosed: false,
}

export type QueueEvent =
  /** Newer than all before them. */
  | { readonly kind: 'put'; readonly entries: readonly Entry[] }
  /** The routes have changed. */
  | { readonly kind: 'routed' }
  | { readonly kind: 'opened'; readonly way: number; readonly epoch: number; readonly batchesMost: number }
  | { readonly kind: 'notOpened'; readonly way: number }
  | {
      readonly kind: 'outcomes'
      readonly way: number
      readonly batch: number
      readonly outcomes: readonly SentOutcome[]
      /** Of which commands, by their positions in the batch; of all of them when absent. */
      readonly at?: readonly number[]
    }
  /** Some time has passed. */
  | { readonly kind: 'looked' }
  | { readonly kind: 'closed' }

export type QueueEffect =
  | { readonly kind: 'open'; readonly way: number; readonly to: string }
  | { readonly kind: 'send'; readonly way: number; readonly batch: number; readonly entries: readonly Entry[] }
  | { readonly kind: 'close'; readonly way: number }
  /** Each command that was put is answered once. */
  | { readonly kind: 'answer'; readonly entry: number; readonly result: Result<Posted, LostBatch> }

/** What is so at the moment of an event. */
export interface QueueMoment {
  readonly now_ms: number
  /** The owner of the partition by the routes; nothing while nobody is known to own it. */
  readonly owner: string | undefined
  /** How long a command waits for its reply. */
  readonly patience_ms: number
}

/** A command is sent on so often; nodes that name each other in turn do not know who the owner is. */
const sentOnMost = 3

/** How long a node is not asked again that said it is not the owner and named nobody, or could not be reached. */
export const again_ms = 200

/**
 * One step of the sender's side of the ways to a partition. Commands go to the owner in their order, by one way at a time. Those
 * that were certainly not carried out are sent again, before newer ones. Those whose way has broken are never sent again, and
 * are answered when they can be carried out no more: so whoever was told that the outcome is not known, and sends something newer by
 * whatever way, is not overtaken by it.
 *
 * | way     | event                          | way then | what is done |
 * |---------|--------------------------------|----------|--------------|
 * | none    | an owner is known, and something waits or is unanswered | opening | open |
 * | opening | opened                         | open     | answer what is unanswered of the same node, or of an earlier tenure; send |
 * | opening | notOpened                      | none     | close; avoid the node for a while |
 * | opening, open | another owner is known   | leaving  |              |
 * | open    | outcomes: a reply              | open     | answer; send |
 * | open, leaving | outcomes: notOwner, refused | leaving, refused | wait again |
 * | open, leaving | outcomes: unsent         | leaving  | wait again   |
 * | open, leaving | outcomes: unanswered     | leaving  | unanswered; of a refused way, and not deferred: wait again |
 * | leaving | nothing under way is waited for | none    | close        |
 * | any     | looked: patience is over       | same     | answer: not known what was sent, not carried out what waits |
 * | any     | closed                         | none     | answer all of them so; close |
 */
export function queueStep(
  queue: RemoteQueue,
  event: QueueEvent,
  moment: QueueMoment,
): readonly [RemoteQueue, readonly QueueEffect[]] {
  if (queue.isClosed) return [queue, []]
  const effects: QueueEffect[] = []
  const next = proceeding(changed(queue, event, moment, effects), moment, effects)
  return [next, effects]
}

function changed(queue: RemoteQueue, event: QueueEvent, moment: QueueMoment, effects: QueueEffect[]): RemoteQueue {
  const { way } = queue
  switch (event.kind) {
    case 'put':
      return { ...queue, waiting: [...queue.waiting, ...event.entries] }
    case 'routed':
      return { ...queue, named: undefined, avoided: undefined }
    case 'opened':
      return way?.number === event.way && way.phase === 'opening' ? opened(queue, way, event, effects) : queue
    case 'notOpened':
      if (way?.number !== event.way) return queue
      effects.push({ kind: 'close', way: way.number })
      return avoiding({ ...queue, way: undefined }, way.to, moment)
    case 'outcomes':
      return way?.number === event.way ? answered(queue, way, event, moment, effects) : queue
    case 'looked':
      return givenUp(queue, ({ until_ms }) => until_ms <= moment.now_ms, effects)
    case 'closed':
      if (way !== undefined) effects.push({ kind: 'close', way: way.number })
      return { ...givenUp(queue, () => true, effects), way: undefined, isClosed: true }
  }
}

/** What the owner and the ways allow to be done now. */
function proceeding(queue: RemoteQueue, moment: QueueMoment, effects: QueueEffect[]): RemoteQueue {
  if (queue.isClosed) return queue
  const owner = ownerOf(queue, moment)
  const left = leaving(queue, owner, effects)
  if (left.way === undefined) return owner === undefined ? left : opening(left, owner, effects)
  return left.way.phase === 'open' ? sending(left, left.way, moment, effects) : left
}

function ownerOf({ named, avoided }: RemoteQueue, moment: QueueMoment): string | undefined {
  const owner = named ?? moment.owner
  return avoided !== undefined && owner === avoided.node && moment.now_ms < avoided.until_ms ? undefined : owner
}

/** While no owner is known the way stays as it is. */
function leaving(queue: RemoteQueue, owner: string | undefined, effects: QueueEffect[]): RemoteQueue {
  const { way } = queue
  if (way === undefined || (way.phase !== 'leaving' && (owner === undefined || owner === way.to))) return queue
  if (way.underWay.some(isWaitedFor)) return { ...queue, way: { ...way, phase: 'leaving' } }
  effects.push({ kind: 'close', way: way.number })
  return { ...queue, way: undefined }
}

function opening(queue: RemoteQueue, to: string, effects: QueueEffect[]): RemoteQueue {
  if (queue.waiting.length === 0 && queue.unanswered.length === 0) return queue
  const number = queue.ways + 1
  effects.push({ kind: 'open', way: number, to })
  const way: Way = { number, to, phase: 'opening', epoch: 0, batchesMost: 0, isRefused: false, underWay: [] }
  return { ...queue, way, ways: number }
}

function opened(
  queue: RemoteQueue,
  way: Way,
  { epoch, batchesMost }: Extract<QueueEvent, { kind: 'opened' }>,
  effects: QueueEffect[],
): RemoteQueue {
  const isOver = (each: Unanswered): boolean => each.to === way.to || each.epoch < epoch
  for (const { entry } of queue.unanswered.filter(isOver)) answer(entry, err({ kind: 'outcomeUnknown' }), effects)
  const unanswered = queue.unanswered.filter((each) => !isOver(each))
  return { ...queue, unanswered, way: { ...way, phase: 'open', epoch, batchesMost } }
}

function sending(queue: RemoteQueue, way: Way, { patience_ms }: QueueMoment, effects: QueueEffect[]): RemoteQueue {
  let { waiting, batches } = queue
  const underWay = [...way.underWay]
  let unanswered = underWay.filter(({ isAnswered }) => !isAnswered).length
  while (waiting.length > 0 && unanswered < way.batchesMost) {
    const entries = waiting.slice(0, alikeMost(waiting, untilShare * patience_ms))
    waiting = waiting.slice(entries.length)
    batches += 1
    unanswered += 1
    underWay.push({ number: batches, entries, open: entries.length, isAnswered: false })
    effects.push({ kind: 'send', way: way.number, batch: batches, entries })
  }
  return { ...queue, waiting, batches, way: { ...way, underWay } }
}

/** How many of those that wait fit into a batch: they are waited for until about the same moment, at least as long as the first. */
function alikeMost(waiting: readonly Entry[], share_ms: number): number {
  const last_ms = (waiting[0]?.until_ms ?? 0) + share_ms
  const most = Math.min(waiting.length, commandsMost)
  for (let alike = 1; alike < most; alike += 1) {
    if ((waiting[alike]?.until_ms ?? 0) > last_ms) return alike
  }
  return most
}

function answered(
  queue: RemoteQueue,
  way: Way,
  { batch, outcomes, at = Array.from(outcomes.keys()) }: Extract<QueueEvent, { kind: 'outcomes' }>,
  moment: QueueMoment,
  effects: QueueEffect[],
): RemoteQueue {
  const sent = way.underWay.find(({ number }) => number === batch)
  if (sent === undefined) return queue
  const left = leftOf(sent, at)
  const underWay = way.underWay.flatMap((each) => (each !== sent ? each : left.open === 0 ? [] : left))
  let next: RemoteQueue = { ...queue, way: { ...way, underWay } }
  const back: Entry[] = []
  for (const [index, place] of at.entries()) {
    const outcome = outcomes[index] ?? err({ kind: 'unanswered' })
    next = outcomeOf(next, { entry: sent.entries[place], isDeferred: sent.isAnswered }, outcome, moment, back, effects)
  }
  if (back.length === 0) return next
  // The outcomes of what a connection had not sent yet come before those of what it had.
  const waiting = [...back, ...next.waiting].sort((one, other) => one.number - other.number)
  return { ...next, waiting }
}

function leftOf(sent: SentBatch, at: readonly number[]): SentBatch {
  const entries = [...sent.entries]
  for (const place of at) entries[place] = undefined
  return { ...sent, entries, open: sent.open - at.length, isAnswered: true }
}

/**
 * An entry is missing that is waited for no more; its outcome still tells of the way. One that was deferred may have been carried out
 * before its way was refused: so it is not known, where others behind a refusal were certainly not carried out.
 */
function outcomeOf(
  queue: RemoteQueue,
  { entry, isDeferred }: { readonly entry: Entry | undefined; readonly isDeferred: boolean },
  outcome: SentOutcome,
  moment: QueueMoment,
  back: Entry[],
  effects: QueueEffect[],
): RemoteQueue {
  const { way } = queue
  if (way === undefined) return queue
  const kind = outcome.ok ? 'reply' : outcome.error.kind
  if (outcome.ok || kind === 'outcomeUnknown' || kind === 'mailboxFull' || kind === 'partitionLost') {
    const lost: LostBatch['kind'] = kind === 'outcomeUnknown' ? kind : 'partitionLost'
    // The mailbox of the owner is full, or its thread is being replaced; or it knows no more of the outcome than it says.
    if (entry !== undefined) answer(entry, outcome.ok ? ok(outcome.value) : err({ kind: lost }), effects)
    return queue
  }
  const isRefused = way.isRefused || kind === 'notOwner' || kind === 'refused'
  const left: RemoteQueue = { ...queue, way: { ...way, phase: 'leaving', isRefused } }
  if (kind === 'unanswered' && (!isRefused || isDeferred)) {
    const unanswered = entry === undefined ? [] : [{ entry, to: way.to, epoch: way.epoch }]
    return { ...left, unanswered: [...left.unanswered, ...unanswered] }
  }
  const owner = outcome.error.kind === 'notOwner' ? outcome.error.owner : undefined
  const isNamed = owner !== undefined && owner !== way.to
  if (entry !== undefined) takeBack(isNamed ? { ...entry, sentOn: entry.sentOn + 1 } : entry, back, effects)
  if (isNamed) return { ...left, named: owner }
  return kind === 'notOwner' || kind === 'refused' ? avoiding(left, way.to, moment) : left
}

function takeBack(entry: Entry, back: Entry[], effects: QueueEffect[]): void {
  if (entry.sentOn > sentOnMost) answer(entry, err({ kind: 'partitionLost' }), effects)
  else back.push(entry)
}

function avoiding(queue: RemoteQueue, node: string, { now_ms }: QueueMoment): RemoteQueue {
  return { ...queue, named: undefined, avoided: { node, until_ms: now_ms + again_ms } }
}

/** Answers those that are waited for no more. */
function givenUp(queue: RemoteQueue, isOver: (entry: Entry) => boolean, effects: QueueEffect[]): RemoteQueue {
  const gone = (entry: Entry, kind: LostBatch['kind']): boolean => {
    if (!isOver(entry)) return false
    answer(entry, err({ kind }), effects)
    return true
  }
  const unanswered = queue.unanswered.filter(({ entry }) => !gone(entry, 'outcomeUnknown'))
  const underWay = queue.way?.underWay.map(({ entries, ...sent }) => ({
    ...sent,
    entries: entries.map((entry) => (entry === undefined || gone(entry, 'outcomeUnknown') ? undefined : entry)),
  }))
  const waiting = queue.waiting.filter((entry) => !gone(entry, 'partitionLost'))
  const way = queue.way && { ...queue.way, underWay: underWay ?? [] }
  return { ...queue, unanswered, waiting, way }
}

function answer({ number }: Entry, result: Result<Posted, LostBatch>, effects: QueueEffect[]): void {
  effects.push({ kind: 'answer', entry: number, result })
}

function isWaitedFor({ entries }: SentBatch): boolean {
  return entries.some((entry) => entry !== undefined)
}
