import { createHash } from 'node:crypto'
import type { LogName } from '../../storage/etcd/engine.js'
import type { NodeFacts } from '../../storage/etcd/node-facts.js'

/** The facts on which a node decides what to own. */
export interface ChoiceFacts {
  /** The names of all nodes that are listed. */
  readonly listed: readonly string[]
  /** The members that may own something. */
  readonly members: readonly NodeFacts[]
  /** The owner of each log, as far as is known. */
  readonly owners: ReadonlyMap<LogName, string>
  /** The time, by the monotonic clock. */
  readonly now_ms: number
}

/** The logs that this node is to campaign for and to release now. */
export interface Choice {
  readonly own: readonly LogName[]
  readonly release: readonly LogName[]
}

export interface ChoiceSettings {
  readonly node: string
  readonly partitions: number
  readonly rebalanceDelay_ms: number
}

/** How long a member owns nothing after most members have last reported it as unreachable. */
const suspected_ms = 10_000

/** How long a member owns nothing after its disk has room again. */
const full_ms = 10_000

/** How long the member to which a log belongs may leave it without an owner before the next one campaigns for it. */
const unowned_ms = 10_000

/**
 * What a node is to own. All of them decide alike on what the members say of themselves, at about the same time;
 * where they do not, the logs decide. A member that most cannot reach ranks last, before it one whose disk is full, and so does, for
 * a log, one that does not campaign for it.
 */
export class OwnerChoice {
  readonly #node: string
  readonly #partitions: number
  readonly #rebalanceDelay_ms: number
  /** When members that most others could not reach may own something again. */
  readonly #suspectedUntil = new Map<string, number>()
  /** When members whose disks were full may own something again. */
  readonly #fullUntil = new Map<string, number>()
  /** Since when each log has had no owner. */
  readonly #unownedSince = new Map<LogName, number>()
  /** By log, the member that did not campaign for it, so that this node did. */
  readonly #passedOver = new Map<LogName, string>()
  #seen = ''
  #changed_ms: number

  /**
   * For a node, of a cluster with this many partitions, that looks for the first time. For as long as `rebalanceDelay_ms` no member may
   * have come or gone before a log is handed over that has an owner.
   */
  constructor({ node, partitions, rebalanceDelay_ms }: ChoiceSettings, now_ms: number) {
    this.#node = node
    this.#partitions = partitions
    this.#rebalanceDelay_ms = rebalanceDelay_ms
    this.#changed_ms = now_ms
  }

  /** Members that most cannot reach, or could not a moment ago. */
  suspects({ members, now_ms }: Pick<ChoiceFacts, 'members' | 'now_ms'>): readonly string[] {
    for (const { name } of members) {
      const naming = members.filter(({ unreachable }) => unreachable.includes(name)).length
      if (naming > members.length / 2) this.#suspectedUntil.set(name, now_ms + suspected_ms)
    }
    forget(this.#suspectedUntil, members, now_ms)
    return [...this.#suspectedUntil.keys()].sort()
  }

  /** `owned` are the logs that this node owns. */
  choice(facts: ChoiceFacts, owned: ReadonlySet<LogName>): Choice {
    const able = this.#able(facts)
    for (const [log, node] of this.#passedOver) if (!able.has(node)) this.#passedOver.delete(log)
    const [own, surplus]: [LogName[], LogName[]] = [[], []]
    for (const [log, place] of this.#places(facts.listed, able)) {
      const holder = facts.owners.get(log)
      // A member that is about to leave releases its logs: until then no other one campaigns for them.
      const isHeld = holder !== undefined && (able.has(holder) || !this.#suspectedUntil.has(holder))
      if (isHeld) this.#unownedSince.delete(log)
      else if (this.#isNext(log, place, able, facts.now_ms)) own.push(log)
      const { owner } = place
      if (owner === undefined || owner === this.#node || owner === this.#passedOver.get(log)) continue
      if (owned.has(log)) surplus.push(log)
    }
    // Whom most cannot reach releases everything at once: so nobody has to wait until what it shows is out of date. Nor until a full disk has room.
    const isApart = this.#suspectedUntil.has(this.#node) || this.#fullUntil.has(this.#node)
    if (isApart && !able.has(this.#node)) return { own: [], release: [...owned] }
    const isStable = facts.now_ms - this.#changed_ms >= this.#rebalanceDelay_ms
    return { own, release: isStable ? surplus.slice(0, 1) : [] }
  }

  /** The members that are to own something. */
  #able(facts: ChoiceFacts): ReadonlySet<string> {
    const suspects = this.suspects(facts)
    const names = facts.members.map(({ name }) => name)
    const reached = names.filter((name) => !suspects.includes(name))
    const full = this.#full(facts)
    const roomy = reached.filter((name) => !full.includes(name))
    const able = [roomy, reached].find((some) => some.length > 0) ?? names
    const seen = [...facts.listed, '', ...able].join(' ')
    if (seen !== this.#seen) this.#changed_ms = facts.now_ms
    this.#seen = seen
    return new Set(able)
  }

  /** Members whose disks are full, or were a moment ago. */
  #full({ members, now_ms }: Pick<ChoiceFacts, 'members' | 'now_ms'>): readonly string[] {
    for (const { name, isFull } of members) if (isFull) this.#fullUntil.set(name, now_ms + full_ms)
    forget(this.#fullUntil, members, now_ms)
    return [...this.#fullUntil.keys()]
  }

  #places(listed: readonly string[], members: ReadonlySet<string>): ReadonlyMap<LogName, Placed> {
    // As long as every node follows every log, every node keeps a replica.
    const facts = { nodes: listed, members, partitions: this.#partitions, replicas: listed.length }
    return new Map<LogName, Placed>([['control', placedCoordinator(facts)], ...placed(facts).entries()])
  }

  /** Whether it is this node's turn to campaign for a log without an owner. */
  #isNext(log: LogName, { owner, replicas }: Placed, able: ReadonlySet<string>, now_ms: number): boolean {
    const since = this.#unownedSince.get(log) ?? now_ms
    this.#unownedSince.set(log, since)
    if (owner === this.#node) return true
    const order = replicas.filter((node) => node !== owner && able.has(node))
    const turn = 1 + order.indexOf(this.#node)
    if (owner === undefined || turn === 0 || now_ms - since < turn * unowned_ms) return false
    this.#passedOver.set(log, owner)
    return true
  }
}

/** Removes entries that have expired or whose nodes are no members any more. */
function forget(until: Map<string, number>, members: readonly NodeFacts[], now_ms: number): void {
  const present = new Set(members.map(({ name }) => name))
  for (const [name, end_ms] of until) if (end_ms <= now_ms || !present.has(name)) until.delete(name)
}

/** The replicas of a log, and its intended owner. */
export interface Placed {
  /** The nodes with a replica, running or not, in the order in which they are to own the log. */
  readonly replicas: readonly string[]
  /** Undefined while none of them is a member. */
  readonly owner: string | undefined
}

/** The facts on which partitions are placed. */
export interface PlacingFacts {
  /** The names of all nodes that are listed. */
  readonly nodes: readonly string[]
  /** The listed nodes that are members now. */
  readonly members: ReadonlySet<string>
  readonly partitions: number
  /** The number of replicas of each partition. */
  readonly replicas: number
}

/**
 * Where each partition belongs: the same on every node that is given the same. Nodes are ranked for each partition by
 * rendezvous hashing, so that one that comes or goes moves only what it has. Of the first that keep replicas the first member
 * owns it, none more than an even share of the partitions, rounded up.
 */
export function placed({ nodes, members, partitions, replicas }: PlacingFacts): readonly Placed[] {
  const share = Math.ceil(partitions / Math.max(1, nodes.filter((node) => members.has(node)).length))
  const owned = new Map<string, number>()
  return Array.from({ length: partitions }, (_, partition) => {
    const keeping = ranked(nodes, partition).slice(0, replicas)
    const here = keeping.filter((node) => members.has(node))
    // With fewer replicas than nodes all that keep one may have their share already.
    const owner = here.find((node) => (owned.get(node) ?? 0) < share) ?? here[0]
    if (owner !== undefined) owned.set(owner, (owned.get(owner) ?? 0) + 1)
    return { replicas: keeping, owner }
  })
}

/** Where the metadata log belongs: all nodes keep a replica, and the first one that is a member coordinates. */
export function placedCoordinator({ nodes, members }: Pick<PlacingFacts, 'nodes' | 'members'>): Placed {
  const replicas = ranked(nodes, 'control')
  return { replicas, owner: replicas.find((node) => members.has(node)) }
}

function ranked(nodes: readonly string[], log: LogName): readonly string[] {
  const weights = nodes.map((node) => ({ node, weight: weightOf(node, log) }))
  return weights.sort((a, b) => b.weight - a.weight || (a.node < b.node ? -1 : 1)).map(({ node }) => node)
}

function weightOf(node: string, log: LogName): number {
  return createHash('sha256').update(`${log} ${node}`).digest().readUIntBE(0, 6)
}
