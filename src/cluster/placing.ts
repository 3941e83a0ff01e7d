import { createHash } from 'node:crypto'
import type { LogName } from './engine.js'

/** Who keeps what follows a log, and who is to own it. */
export interface Placed {
  /** The nodes that keep a copy, whether they run or not, in the order in which they are to own the log. */
  readonly copies: readonly string[]
  /** Nothing while none of them is a member. */
  readonly owner: string | undefined
}

/** Where partitions are placed. */
export interface PlacingFacts {
  /** The names of all nodes that are listed. */
  readonly nodes: readonly string[]
  /** Those of them that are members now. */
  readonly members: ReadonlySet<string>
  readonly partitions: number
  /** How many nodes keep a copy of each partition. */
  readonly copies: number
}

/**
 * Where each partition belongs: the same on every node that is given the same. Nodes are ranked for each partition by
 * rendezvous hashing, so that one that comes or goes moves only what it has. Of the first that keep copies the first member
 * owns it, none more than an even share of the partitions, rounded up.
 */
export function placed({ nodes, members, partitions, copies }: PlacingFacts): readonly Placed[] {
  const share = Math.ceil(partitions / Math.max(1, nodes.filter((node) => members.has(node)).length))
  const owned = new Map<string, number>()
  return Array.from({ length: partitions }, (_, partition) => {
    const keeping = ranked(nodes, partition).slice(0, copies)
    const here = keeping.filter((node) => members.has(node))
    // With fewer copies than nodes all that keep one may have their share already.
    const owner = here.find((node) => (owned.get(node) ?? 0) < share) ?? here[0]
    if (owner !== undefined) owned.set(owner, (owned.get(owner) ?? 0) + 1)
    return { copies: keeping, owner }
  })
}

/** Where the log of the coordinator belongs: all nodes keep a copy, and the first one that is a member coordinates. */
export function placedCoordinator({ nodes, members }: Pick<PlacingFacts, 'nodes' | 'members'>): Placed {
  const copies = ranked(nodes, 'control')
  return { copies, owner: copies.find((node) => members.has(node)) }
}

function ranked(nodes: readonly string[], log: LogName): readonly string[] {
  const weights = nodes.map((node) => ({ node, weight: weightOf(node, log) }))
  return weights.sort((a, b) => b.weight - a.weight || (a.node < b.node ? -1 : 1)).map(({ node }) => node)
}

function weightOf(node: string, log: LogName): number {
  return createHash('sha256').update(`${log} ${node}`).digest().readUIntBE(0, 6)
}
