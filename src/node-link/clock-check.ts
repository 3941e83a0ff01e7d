import type { NodeFacts } from '../cluster/node-facts.js'
import { type NodeAddress, parseAddress } from '../cluster/route-table.js'
import { parseClock } from './link-protocol.js'
import { type LinkCaller, NodeConnection } from './node-connection.js'

/** Who differs by more does not join; who differs by less than that and more than this is warned of. */
const refused_ms = 1000
const warned_ms = 200

/** How often a member is asked: the shortest way says most. The first one opens the connection. */
const questions = 4
/** How long it may take to answer all of them. */
const answer_ms = 2000

/** What is said of the clock of this node, in words for the operator. */
export type ClockVerdict =
  | { readonly kind: 'right' }
  | { readonly kind: 'warned'; readonly reason: string }
  /** It differs from the clocks of most members. */
  | { readonly kind: 'refused'; readonly reason: string }

/** How far the clock of this node is ahead of that of another one at least; negative: behind. */
interface ClockLead {
  readonly node: string
  readonly lead_ms: number
}

/**
 * Compares the clock of the day with those of the other members, as far as they answer. `now` is the clock of this node. One member
 * that is wrong itself keeps nobody out whom others agree with.
 */
export async function checkClock(
  members: readonly NodeFacts[],
  caller: LinkCaller,
  now: () => number,
): Promise<ClockVerdict> {
  const others = members.flatMap(({ name, address }) =>
    name === caller.self.node ? [] : (parseAddress(name, address) ?? []),
  )
  const leads = (await Promise.all(others.map((other) => leadOver(other, caller, now)))).flatMap((lead) => lead ?? [])
  const far = leads.filter(({ lead_ms }) => Math.abs(lead_ms) >= refused_ms)
  const near = leads.filter(({ lead_ms }) => Math.abs(lead_ms) >= warned_ms)
  if (near.length === 0) return { kind: 'right' }
  const isRefused = 2 * far.length > leads.length
  const said = (isRefused ? far : near).map(leadText).join(', ')
  const reason = `the clock of the day of this machine is ${said}: let all machines take their time from the same servers (NTP)`
  return { kind: isRefused ? 'refused' : 'warned', reason }
}

/** Nothing of one that does not answer in time. */
async function leadOver(to: NodeAddress, caller: LinkCaller, now: () => number): Promise<ClockLead | undefined> {
  const connection = new NodeConnection(to, caller)
  const limit = setTimeout(() => connection.close(), answer_ms)
  let [least_ms, most_ms] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let question = 0; question < questions; question += 1) {
    const asked_ms = now()
    const response = await connection.ask({ kind: 'clock' }, Buffer.from('{}'))
    const read_ms = response.kind === 'answered' ? parseClock(response.bytes.toString()) : undefined
    if (read_ms === undefined) break
    // It was read between the question and the answer.
    least_ms = Math.max(least_ms, asked_ms - read_ms)
    most_ms = Math.min(most_ms, now() - read_ms)
  }
  clearTimeout(limit)
  connection.close()
  if (least_ms === Number.NEGATIVE_INFINITY) return undefined
  return { node: to.node, lead_ms: least_ms > 0 ? least_ms : Math.min(0, most_ms) }
}

function leadText({ node, lead_ms }: ClockLead): string {
  return `${Math.abs(lead_ms)} ms ${lead_ms > 0 ? 'ahead of' : 'behind'} that of node ${node}`
}
