/** What ends in an orderly end, each a part of the broker that others use until then. */
export type Ending =
  /** Expired entities are removed no more. */
  | 'sweeper'
  /** Other nodes own what this one has owned. */
  | 'handover'
  /** All requests have a response, or are given up. */
  | 'frontEnds'
  /** Nothing happens by the clock: no subscription expires, no interval is over. */
  | 'clocks'
  /** No notification is being sent, no outbox is read, and the outcomes are on disk. */
  | 'courier'
  /** What the coordinator owns is followed no more, and its store is closed, with its outbox. */
  | 'coordinatorStore'
  /** This node asks no other one any more. */
  | 'nodeLinks'
  /** The partitions have finished their turns, and their stores are closed, with their outboxes. */
  | 'partitions'
  /** The cluster knows that this node has left. */
  | 'membership'
  /** The connection to the engine of the cluster is closed. */
  | 'engine'

/**
 * What each part uses as long as it has not ended: it ends before that. The order of the end follows from this and from nothing else.
 *
 * The courier reads the outboxes of all stores and has what became of notices stored in them; a hand-over lets the listeners of front ends
 * send on what comes meanwhile, and has the courier finish what is under way.
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

/** How far an end is: what is ending, and what has ended. */
export interface EndState {
  readonly begun: ReadonlySet<Ending>
  readonly ended: ReadonlySet<Ending>
}

export type EndEvent = { readonly kind: 'begin' } | { readonly kind: 'ended'; readonly part: Ending }

/** What is to be ended now: everything that nobody uses any more and that is not ending yet. */
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

/** Ends all parts in their order, and tells of each. Rejects as soon as one of them cannot be ended: then the others stay as they are. */
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

function isEnding(name: string): name is Ending {
  return Object.hasOwn(partsUsed, name)
}
