import { numberOf } from '../number-of.js'

/** The parts of the broker that an orderly end ends one by one. Comments say what holds once a part has ended. */
export type Ending =
  /** Expired entities are no longer removed. */
  | 'sweeper'
  /** Other nodes own what this one has owned. */
  | 'handover'
  /** All requests have a response or were given up. */
  | 'frontEnds'
  /** No timed work: no subscription expires, no interval ends. */
  | 'clocks'
  /** No notification is being sent, no outbox is read, and the outcomes are on disk. */
  | 'courier'
  /** The metadata log is no longer followed; the coordinator's store is closed, with its outbox. */
  | 'coordinatorStore'
  /** This node asks other nodes nothing more. */
  | 'nodeLinks'
  /** The partitions have finished their turns; their stores are closed, with their outboxes. */
  | 'partitions'
  /** The cluster knows that this node has left. */
  | 'membership'
  /** The connection to etcd is closed. */
  | 'engine'

/**
 * The parts that each part uses until it has ended: it ends before them. The order of the end follows from this table
 * alone. The courier reads the outboxes of all stores and stores the outcomes of notices in them. A hand-over lets the
 * listeners of front ends send on what comes meanwhile, and has the courier finish its attempts.
 */
export const partsUsed: Readonly<Record<Ending, readonly Ending[]>> = {
  sweeper: ['frontEnds', 'partitions'],
  handover: ['frontEnds', 'courier', 'coordinatorStore', 'partitions', 'membership'],
  frontEnds: ['clocks', 'courier', 'coordinatorStore', 'nodeLinks', 'partitions'],
  clocks: ['courier', 'coordinatorStore', 'nodeLinks', 'partitions'],
  courier: ['coordinatorStore', 'partitions'],
  coordinatorStore: ['nodeLinks', 'partitions', 'engine'],
  nodeLinks: ['partitions', 'membership'],
  partitions: ['membership', 'engine'],
  membership: ['engine'],
  engine: [],
}

export interface EndState {
  readonly begun: ReadonlySet<Ending>
  readonly ended: ReadonlySet<Ending>
}

export type EndEvent = { readonly kind: 'begin' } | { readonly kind: 'ended'; readonly part: Ending }

/** The parts to end now: those that no other part uses any more and that are not ending yet. */
export function endTransition(
  { begun, ended }: EndState,
  event: EndEvent,
  uses: typeof partsUsed = partsUsed,
): { readonly state: EndState; readonly end: readonly Ending[] } {
  const over = event.kind === 'ended' ? new Set(ended).add(event.part) : ended
  const parts = Object.keys(uses).filter(isEnding)
  const end = parts.filter(
    (part) => !begun.has(part) && !parts.some((user) => uses[user].includes(part) && !over.has(user)),
  )
  return { state: { begun: new Set([...begun, ...end]), ended: over }, end }
}

/**
 * Ends all parts in order and reports each one. Rejects as soon as a part cannot be ended; the remaining parts stay as
 * they are.
 */
export function endInOrder(
  steps: Readonly<Record<Ending, () => void | Promise<void>>>,
  told: (part: Ending) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let current: EndState = { begun: new Set(), ended: new Set() }
    const take = (event: EndEvent): void => {
      const { state, end } = endTransition(current, event)
      current = state
      for (const part of end) {
        Promise.resolve()
          .then(steps[part])
          .then(() => {
            told(part)
            take({ kind: 'ended', part })
          }, reject)
      }
      if (state.ended.size === Object.keys(steps).length) resolve()
    }
    take({ kind: 'begin' })
  })
}

/** What an orderly end has given up because its time was over. */
export interface GivenUp {
  readonly requests: number
  /** Parts that had begun to end and were not done; of front ends, also what follows the requests that were counted. */
  readonly parts: readonly Ending[]
}

/** The parts that are ending: no part uses them any more, and they have not ended. */
export function endingParts(ended: ReadonlySet<Ending>): readonly Ending[] {
  const parts = Object.keys(partsUsed).filter(isEnding)
  const left = parts.filter((part) => !ended.has(part))
  return left.filter((part) => !left.some((user) => partsUsed[user].includes(part)))
}

/** What the work of a part is, where it was given up. */
const work: Readonly<Record<Ending, string>> = {
  sweeper: 'the removal of expired entities',
  handover: 'the hand-over of partitions to other nodes',
  frontEnds: 'requests',
  clocks: 'the clocks of subscriptions',
  courier: 'attempts to notify',
  coordinatorStore: 'changes of subscriptions and registrations',
  nodeLinks: 'requests to other nodes',
  partitions: 'turns of partitions',
  membership: 'the leave from the cluster',
  engine: 'requests to etcd',
}

/** What was given up, for a line of the log; undefined for nothing. */
export function givenUpText({ requests, parts }: GivenUp): string | undefined {
  const texts = [
    ...(requests === 0 ? [] : [numberOf(requests, 'request')]),
    ...parts.filter((part) => requests === 0 || part !== 'frontEnds').map((part) => work[part]),
  ]
  return texts.length === 0 ? undefined : texts.join(', ')
}

function isEnding(name: string): name is Ending {
  return Object.hasOwn(partsUsed, name)
}
