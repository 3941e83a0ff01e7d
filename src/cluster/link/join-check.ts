import type { NodeFacts } from '../../storage/etcd/node-facts.js'
import { type NodeAddress, parseAddress } from '../membership/route-table.js'
import { parseClock, parseNodeOfClock } from './link-protocol.js'
import { type LinkCaller, NodeConnection } from './node-connection.js'

/** A clock difference of this much or more is refused; a smaller one above this is a warning. */
const refusedFrom_ms = 1000
const warned_ms = 200

/** How often each member is asked. The fastest answer is the most exact one; the first question opens the connection. */
const questions = 4
/** How long all responses of a member may take. */
const response_ms = 2000

/** The other members' verdict on a node that is about to join, as a text for the operator. */
export type JoinVerdict =
  | { readonly kind: 'right' }
  | { readonly kind: 'warned'; readonly reason: string }
  /** Most members refuse its requests, or its clock differs from theirs. */
  | { readonly kind: 'refused'; readonly reason: string }

type JoinResponse =
  /** By how much this node's clock is ahead of another node's, at least; negative: behind. */
  | { readonly kind: 'lead'; readonly node: string; readonly lead_ms: number }
  /** The other node does not accept this one as a node of its cluster. */
  | { readonly kind: 'refusal'; readonly node: string; readonly reason: string }

type Lead = Extract<JoinResponse, { readonly kind: 'lead' }>

/** The status codes with which a node refuses callers without a token, or of another cluster or version. */
const refusals: readonly number[] = [401, 409]

/**
 * Checks that the other members, as far as they answer, accept this node's requests, and that its clock agrees with theirs. `now`
 * is the clock of this node. A single member that disagrees with the others keeps no node out.
 */
export async function checkJoin(
  members: readonly NodeFacts[],
  caller: LinkCaller,
  now: () => number,
): Promise<JoinVerdict> {
  const others = members.flatMap(({ name, address }) =>
    name === caller.self.node ? [] : (parseAddress(name, address) ?? []),
  )
  const responses = (await Promise.all(others.map((other) => responseOf(other, caller, now)))).flatMap(
    (each) => each ?? [],
  )
  const refusing = responses.flatMap((response) => (response.kind === 'refusal' ? response : []))
  if (2 * refusing.length > responses.length) {
    const reasons = refusing.map(({ node, reason }) => `node ${node} answers ${reason}`).join(', ')
    return { kind: 'refused', reason: `other nodes do not take this one for a node of their cluster: ${reasons}` }
  }
  return clockVerdict(responses.flatMap((response) => (response.kind === 'lead' ? response : [])))
}

/**
 * Why a node may not run, as a text for the operator, when whoever answers at the address of the member of its name is another process,
 * started with a copy of the data folder: both would take the logs from each other. A predecessor that has died does not answer.
 */
export async function twinRefusal(members: readonly NodeFacts[], caller: LinkCaller): Promise<string | undefined> {
  const name = caller.self.node
  const address = members.find((member) => member.name === name)?.address
  const at = address === undefined ? undefined : parseAddress(name, address)
  if (at === undefined) return undefined
  const connection = new NodeConnection(at, caller)
  const limit = setTimeout(() => connection.close(), response_ms)
  const response = await connection.ask({ kind: 'clock' }, Buffer.from('{}'))
  clearTimeout(limit)
  connection.close()
  // The address may have become that of another node since.
  if (response.kind !== 'answered' || parseNodeOfClock(response.bytes.toString()) !== name) return undefined
  return twinText(name, address ?? '')
}

/** What an operator is told of another process with the name of a node. */
export function twinText(name: string, address: string): string {
  return `another process runs as its node ${name}, at ${address}: end that one, or start this one with another -nodeName and a new folder`
}

function clockVerdict(leads: readonly Lead[]): JoinVerdict {
  const far = leads.filter(({ lead_ms }) => Math.abs(lead_ms) >= refusedFrom_ms)
  const near = leads.filter(({ lead_ms }) => Math.abs(lead_ms) >= warned_ms)
  if (near.length === 0) return { kind: 'right' }
  const isRefused = 2 * far.length > leads.length
  const clocks = (isRefused ? far : near).map(leadText).join(', ')
  const reason = `the clock of the day of this machine is ${clocks}: ${wrongClock(near, leads)}`
  const wayOut = 'let all machines take their time from the same servers (NTP)'
  return {
    kind: isRefused ? 'refused' : 'warned',
    reason: `${reason}; ${wayOut}${isRefused ? ', then start again' : ''}`,
  }
}

/** Which clock is wrong, as far as the members that answered tell. */
function wrongClock(differing: readonly Lead[], leads: readonly Lead[]): string {
  if (leads.length === 1) return 'either of the two may be wrong, since no other node has answered'
  if (2 * differing.length > leads.length) return 'most nodes that answered differ from it, so it is probably wrong'
  return 'the other nodes that answered agree with it, so theirs is probably wrong'
}

/** Undefined if the member does not answer in time. */
async function responseOf(to: NodeAddress, caller: LinkCaller, now: () => number): Promise<JoinResponse | undefined> {
  const { node } = to
  const connection = new NodeConnection(to, caller)
  const limit = setTimeout(() => connection.close(), response_ms)
  let refusal: string | undefined
  let [least_ms, most_ms] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let question = 0; question < questions; question += 1) {
    const sent_ms = now()
    const response = await connection.ask({ kind: 'clock' }, Buffer.from('{}'))
    if (response.kind === 'answered' && refusals.includes(response.status))
      refusal = `${response.status}: ${response.bytes.toString('utf8', 0, 500)}`
    const read_ms = response.kind === 'answered' ? parseClock(response.bytes.toString()) : undefined
    if (read_ms === undefined) break
    // The other clock was read between question and answer.
    least_ms = Math.max(least_ms, sent_ms - read_ms)
    most_ms = Math.min(most_ms, now() - read_ms)
  }
  clearTimeout(limit)
  connection.close()
  if (refusal !== undefined) return { kind: 'refusal', node, reason: refusal }
  if (least_ms === Number.NEGATIVE_INFINITY) return undefined
  return { kind: 'lead', node, lead_ms: least_ms > 0 ? least_ms : Math.min(0, most_ms) }
}

function leadText({ node, lead_ms }: Lead): string {
  return `${Math.abs(lead_ms)} ms ${lead_ms > 0 ? 'ahead of' : 'behind'} that of node ${node}`
}
