import type { LostBatch, Posted } from '../../partition/mailbox/batch.js'
import { untilShare } from '../../partition/mailbox/mailbox.js'
import { err, ok, type Result } from '../../result.js'
import type { SentOutcome } from './batch-route.js'
import { commandsMost } from './command-batch.js'

/** A command in the mailbox. */
export interface Entry {
  /** Its sequence number in this mailbox. */
  readonly number: number
  /** When its caller stops waiting. */
  readonly until_ms: number
  /** How often it went on to another node. */
  readonly sentOn: number
}

interface SentBatch {
  readonly number: number
  /** In the order of sending; undefined in the place of one that has its outcome or whose caller has stopped waiting. */
  readonly entries: readonly (Entry | undefined)[]
  /** The number of commands without an outcome, whether a caller waits for them or not. */
  readonly open: number
  /** The first outcomes have come, so the rest is deferred. Such a batch does not keep others from being sent. */
  readonly isAnswered: boolean
}

/** A route to a node, from its opening until no caller waits for anything that was sent on it. */
interface Route {
  readonly number: number
  readonly to: string
  /** Nothing more is sent on a leaving route. Another one is opened once everything under way has an outcome. */
  readonly phase: 'opening' | 'open' | 'leaving'
  /** See `OpenedRoute`; 0 until it is opened. */
  readonly epoch: number
  readonly batchesMost: number
  /** The node has refused a command, so nothing that follows it on this route is carried out. */
  readonly isRefused: boolean
  readonly underWay: readonly SentBatch[]
}

/** A command whose route has broken: that node may still carry it out, until it is elected anew. */
interface Unanswered {
  readonly entry: Entry
  readonly to: string
  readonly epoch: number
}

/** The state of the mailbox of a partition that may move between nodes. */
export interface RemoteQueue {
  /** In order; none of them is under way. */
  readonly waiting: readonly Entry[]
  readonly unanswered: readonly Unanswered[]
  readonly route: Route | undefined
  /** Counters that name routes and batches. */
  readonly routes: number
  readonly batches: number
  /** The owner that another node has named; forgotten when the routes change. */
  readonly named: string | undefined
  readonly avoided: { readonly node: string; readonly until_ms: number } | undefined
  readonly isClosed: boolean
}

export const emptyQueue: RemoteQueue = {
  waiting: [],
  unanswered: [],
  route: undefined,
  routes: 0,
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
  | { readonly kind: 'opened'; readonly route: number; readonly epoch: number; readonly batchesMost: number }
  | { readonly kind: 'notOpened'; readonly route: number }
  | {
      readonly kind: 'outcomes'
      readonly route: number
      readonly batch: number
      readonly outcomes: readonly SentOutcome[]
      /** The positions of the commands in the batch; absent: all of them. */
      readonly at?: readonly number[]
    }
  /** Some time has passed. */
  | { readonly kind: 'looked' }
  | { readonly kind: 'closed' }

export type QueueEffect =
  | { readonly kind: 'open'; readonly route: number; readonly to: string }
  | { readonly kind: 'send'; readonly route: number; readonly batch: number; readonly entries: readonly Entry[] }
  | { readonly kind: 'close'; readonly route: number }
  /** Each command that was put is answered once. */
  | { readonly kind: 'reply'; readonly entry: number; readonly result: Result<Posted, LostBatch> }

/** The circumstances of an event. */
export interface QueueMoment {
  readonly now_ms: number
  /** The owner of the partition by the routes; undefined while none is known. */
  readonly owner: string | undefined
  /** How long a command waits for its reply. */
  readonly patience_ms: number
}

/** How often a command is sent on at most: nodes that name each other in turn do not know the owner. */
const sentOnMost = 3

/** How long a node is not asked again after it could not be reached, or was not the owner and named none. */
export const again_ms = 200

/**
 * One step of the sender's side of the routes to a partition. Commands go to the owner in order, by one route at a time. Commands
 * that were certainly not carried out are sent again, before newer ones. Commands whose route has broken are never sent again. They
 * are answered once they can no longer be carried out: so a client that is told "outcome unknown" and then sends something newer, by
 * any route, is not overtaken by its earlier command.
 *
 * | route   | event                                                   | then     | what is done |
 * |---------|---------------------------------------------------------|----------|--------------|
 * | none    | an owner is known, and something waits or is unanswered | opening  | open |
 * | opening | opened                         | open     | answer the unanswered of the same node, and of earlier elections; send |
 * | opening | notOpened                      | none     | close; avoid the node for a while |
 * | opening, open | another owner is known   | leaving  |              |
 * | open    | outcomes: a reply              | open     | answer; send |
 * | open, leaving | outcomes: notOwner, refused | leaving, refused | wait again |
 * | open, leaving | outcomes: unsent         | leaving  | wait again   |
 * | open, leaving | outcomes: unanswered     | leaving  | unanswered; on a refused route, if not deferred: wait again |
 * | leaving | no caller waits for anything under way | none | close       |
 * | any     | looked: patience is over       | same     | answer: outcome unknown if sent, not carried out if waiting |
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
  const { route } = queue
  switch (event.kind) {
    case 'put':
      return { ...queue, waiting: [...queue.waiting, ...event.entries] }
    case 'routed':
      return { ...queue, named: undefined, avoided: undefined }
    case 'opened':
      return route?.number === event.route && route.phase === 'opening' ? opened(queue, route, event, effects) : queue
    case 'notOpened':
      if (route?.number !== event.route) return queue
      effects.push({ kind: 'close', route: route.number })
      return avoiding({ ...queue, route: undefined }, route.to, moment)
    case 'outcomes':
      return route?.number === event.route ? answered(queue, route, event, moment, effects) : queue
    case 'looked':
      return givenUp(queue, ({ until_ms }) => until_ms <= moment.now_ms, effects)
    case 'closed':
      if (route !== undefined) effects.push({ kind: 'close', route: route.number })
      return { ...givenUp(queue, () => true, effects), route: undefined, isClosed: true }
  }
}

/** What the owner and the routes allow now. */
function proceeding(queue: RemoteQueue, moment: QueueMoment, effects: QueueEffect[]): RemoteQueue {
  if (queue.isClosed) return queue
  const owner = ownerOf(queue, moment)
  const left = leaving(queue, owner, effects)
  if (left.route === undefined) return owner === undefined ? left : opening(left, owner, effects)
  return left.route.phase === 'open' ? sending(left, left.route, moment, effects) : left
}

function ownerOf({ named, avoided }: RemoteQueue, moment: QueueMoment): string | undefined {
  const owner = named ?? moment.owner
  return avoided !== undefined && owner === avoided.node && moment.now_ms < avoided.until_ms ? undefined : owner
}

/** While no owner is known the route stays as it is. */
function leaving(queue: RemoteQueue, owner: string | undefined, effects: QueueEffect[]): RemoteQueue {
  const { route } = queue
  if (route === undefined || (route.phase !== 'leaving' && (owner === undefined || owner === route.to))) return queue
  if (route.underWay.some(isWaitedFor)) return { ...queue, route: { ...route, phase: 'leaving' } }
  effects.push({ kind: 'close', route: route.number })
  return { ...queue, route: undefined }
}

function opening(queue: RemoteQueue, to: string, effects: QueueEffect[]): RemoteQueue {
  if (queue.waiting.length === 0 && queue.unanswered.length === 0) return queue
  const number = queue.routes + 1
  effects.push({ kind: 'open', route: number, to })
  const route: Route = { number, to, phase: 'opening', epoch: 0, batchesMost: 0, isRefused: false, underWay: [] }
  return { ...queue, route, routes: number }
}

function opened(
  queue: RemoteQueue,
  route: Route,
  { epoch, batchesMost }: Extract<QueueEvent, { kind: 'opened' }>,
  effects: QueueEffect[],
): RemoteQueue {
  const isOver = (each: Unanswered): boolean => each.to === route.to || each.epoch < epoch
  for (const { entry } of queue.unanswered.filter(isOver)) answer(entry, err({ kind: 'outcomeUnknown' }), effects)
  const unanswered = queue.unanswered.filter((each) => !isOver(each))
  return { ...queue, unanswered, route: { ...route, phase: 'open', epoch, batchesMost } }
}

function sending(queue: RemoteQueue, route: Route, { patience_ms }: QueueMoment, effects: QueueEffect[]): RemoteQueue {
  let { waiting, batches } = queue
  const underWay = [...route.underWay]
  let unanswered = underWay.filter(({ isAnswered }) => !isAnswered).length
  while (waiting.length > 0 && unanswered < route.batchesMost) {
    const entries = waiting.slice(0, alikeMost(waiting, untilShare * patience_ms))
    waiting = waiting.slice(entries.length)
    batches += 1
    unanswered += 1
    underWay.push({ number: batches, entries, open: entries.length, isAnswered: false })
    effects.push({ kind: 'send', route: route.number, batch: batches, entries })
  }
  return { ...queue, waiting, batches, route: { ...route, underWay } }
}

/**
 * How many waiting commands fit into one batch: their callers wait until about the same moment, at least as long as the first.
 */
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
  route: Route,
  { batch, outcomes, at = Array.from(outcomes.keys()) }: Extract<QueueEvent, { kind: 'outcomes' }>,
  moment: QueueMoment,
  effects: QueueEffect[],
): RemoteQueue {
  const sent = route.underWay.find(({ number }) => number === batch)
  if (sent === undefined) return queue
  const left = leftOf(sent, at)
  const underWay = route.underWay.flatMap((each) => (each !== sent ? each : left.open === 0 ? [] : left))
  let next: RemoteQueue = { ...queue, route: { ...route, underWay } }
  const back: Entry[] = []
  for (const [index, position] of at.entries()) {
    const outcome = outcomes[index] ?? err({ kind: 'unanswered' })
    next = outcomeOf(
      next,
      { entry: sent.entries[position], isDeferred: sent.isAnswered },
      outcome,
      moment,
      back,
      effects,
    )
  }
  if (back.length === 0) return next
  // The outcomes of commands that a connection had not sent come before those of the ones that it had.
  const waiting = [...back, ...next.waiting].sort((one, other) => one.number - other.number)
  return { ...next, waiting }
}

function leftOf(sent: SentBatch, at: readonly number[]): SentBatch {
  const entries = [...sent.entries]
  for (const position of at) entries[position] = undefined
  return { ...sent, entries, open: sent.open - at.length, isAnswered: true }
}

/**
 * Takes the outcome of one command. The entry is missing when its caller has stopped waiting; the outcome still tells about the
 * route. A deferred command behind a refusal may have been carried out before it, so its outcome is unknown, whereas the others
 * certainly were not carried out.
 */
function outcomeOf(
  queue: RemoteQueue,
  { entry, isDeferred }: { readonly entry: Entry | undefined; readonly isDeferred: boolean },
  outcome: SentOutcome,
  moment: QueueMoment,
  back: Entry[],
  effects: QueueEffect[],
): RemoteQueue {
  const { route } = queue
  if (route === undefined) return queue
  const kind = outcome.ok ? 'reply' : outcome.error.kind
  if (outcome.ok || kind === 'outcomeUnknown' || kind === 'mailboxFull' || kind === 'partitionLost') {
    const lost: LostBatch['kind'] = kind === 'outcomeUnknown' ? kind : 'partitionLost'
    // The owner's mailbox is full, its thread is being replaced, or the owner does not know the outcome itself.
    if (entry !== undefined) answer(entry, outcome.ok ? ok(outcome.value) : err({ kind: lost }), effects)
    return queue
  }
  const isRefused = route.isRefused || kind === 'notOwner' || kind === 'refused'
  const left: RemoteQueue = { ...queue, route: { ...route, phase: 'leaving', isRefused } }
  if (kind === 'unanswered' && (!isRefused || isDeferred)) {
    const unanswered = entry === undefined ? [] : [{ entry, to: route.to, epoch: route.epoch }]
    return { ...left, unanswered: [...left.unanswered, ...unanswered] }
  }
  const owner = outcome.error.kind === 'notOwner' ? outcome.error.owner : undefined
  const isNamed = owner !== undefined && owner !== route.to
  if (entry !== undefined) takeBack(isNamed ? { ...entry, sentOn: entry.sentOn + 1 } : entry, back, effects)
  if (isNamed) return { ...left, named: owner }
  return kind === 'notOwner' || kind === 'refused' ? avoiding(left, route.to, moment) : left
}

function takeBack(entry: Entry, back: Entry[], effects: QueueEffect[]): void {
  if (entry.sentOn > sentOnMost) answer(entry, err({ kind: 'partitionLost' }), effects)
  else back.push(entry)
}

function avoiding(queue: RemoteQueue, node: string, { now_ms }: QueueMoment): RemoteQueue {
  return { ...queue, named: undefined, avoided: { node, until_ms: now_ms + again_ms } }
}

/** Answers the commands whose callers stop waiting. */
function givenUp(queue: RemoteQueue, isOver: (entry: Entry) => boolean, effects: QueueEffect[]): RemoteQueue {
  const gone = (entry: Entry, kind: LostBatch['kind']): boolean => {
    if (!isOver(entry)) return false
    answer(entry, err({ kind }), effects)
    return true
  }
  const unanswered = queue.unanswered.filter(({ entry }) => !gone(entry, 'outcomeUnknown'))
  const underWay = queue.route?.underWay.map(({ entries, ...sent }) => ({
    ...sent,
    entries: entries.map((entry) => (entry === undefined || gone(entry, 'outcomeUnknown') ? undefined : entry)),
  }))
  const waiting = queue.waiting.filter((entry) => !gone(entry, 'partitionLost'))
  const route = queue.route && { ...queue.route, underWay: underWay ?? [] }
  return { ...queue, unanswered, waiting, route }
}

function answer({ number }: Entry, result: Result<Posted, LostBatch>, effects: QueueEffect[]): void {
  effects.push({ kind: 'reply', entry: number, result })
}

function isWaitedFor({ entries }: SentBatch): boolean {
  return entries.some((entry) => entry !== undefined)
}
