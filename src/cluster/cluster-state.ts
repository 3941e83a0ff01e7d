import { err, ok, type Result } from '../result.js'
import type { LogSequence } from '../wal/record-log.js'
import { type ClusterDescription, descriptionKey, nodesKey, parseDescription } from './cluster-description.js'
import { parseCheckpoints, parseCovered } from './copy-checkpoints.js'
import type { EtcdClient } from './etcd-client.js'
import type { KeyValue, RequestOp } from './etcd-protocol.js'
import { endOf } from './key-watch.js'
import { type ClusterNodes, type NodeFacts, parseFacts, parseNodes } from './node-facts.js'

/** A member as it stands in etcd. */
export interface StandingMember {
  readonly facts: NodeFacts
  /** Until its lease ends unless it is renewed; nothing when that is not known. */
  readonly leaseLeft_s: number | undefined
}

/** What stands in etcd about a cluster, at one moment. */
export interface ClusterState {
  readonly description: ClusterDescription
  /** Nothing in a cluster of one node. */
  readonly nodes: ClusterNodes | undefined
  /** Of that setting; 0 where there is none. */
  readonly nodesRevision: number
  readonly members: readonly StandingMember[]
  /** Members that a later version has written. */
  readonly unreadMembers: readonly string[]
  /** Of each log, by its name: the sequence of its last record. */
  readonly heads: ReadonlyMap<string, LogSequence>
  /** Up to which record of each log the checkpoints of each node are, as it has said last. */
  readonly checkpoints: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** Up to which record of each log a start of each node has nothing to apply, as it has said last. */
  readonly covered: ReadonlyMap<string, ReadonlyMap<string, number>>
}

/** Reads what stands below the prefix of a cluster. Refuses in words for the operator, also where none stands. */
export async function readClusterState(client: EtcdClient, prefix: string): Promise<Result<ClusterState, string>> {
  const read = await findClusterState(client, prefix)
  if (!read.ok) return err(read.error.reason)
  return read.value === undefined ? err(`no cluster stands at ${prefix}`) : ok(read.value)
}

/** Why the state of a cluster is not known, in words for the operator. */
interface StateUnknown {
  readonly kind: 'unavailable' | 'unreadable'
  readonly reason: string
}

/** The same, and nothing where none stands. */
export async function findClusterState(
  client: EtcdClient,
  prefix: string,
): Promise<Result<ClusterState | undefined, StateUnknown>> {
  const success = [descriptionKey, nodesKey, 'member/', 'checkpoints/', 'head/'].map((name) => ranging(prefix, name))
  const read = await client.call('txn', { compare: [], success, failure: [] })
  if (!read.ok) return err({ kind: 'unavailable', reason: read.error.reason })
  const [cluster, setting, members = [], checkpoints = [], heads = []] = read.value.responses.map(
    ({ responseRange }) => responseRange?.kvs ?? [],
  )
  const text = textOf(cluster)
  if (text === undefined) return ok(undefined)
  const description = parseDescription(text)
  const nodes = parseNodes(textOf(setting) ?? '')
  if (description === undefined || (nodes === undefined && setting?.length !== 0)) {
    const reason = `what stands at ${prefix} is written by a later version of Rigel, or damaged`
    return err({ kind: 'unreadable', reason })
  }
  const named = <Value>(pairs: readonly KeyValue[], value: (text: string) => Value): ReadonlyMap<string, Value> =>
    new Map(pairs.map((pair) => [nameIn(pair), value(pair.value.toString())]))
  return ok({
    ...{ description, nodes, nodesRevision: setting?.[0]?.modRevision ?? 0 },
    members: await Promise.all(members.flatMap((pair) => standing(client, pair) ?? [])),
    unreadMembers: members.filter(({ value }) => parseFacts(value.toString()) === undefined).map(nameIn),
    heads: named(heads, (last) => Number(last) as LogSequence),
    checkpoints: named(checkpoints, parseCheckpoints),
    covered: named(checkpoints, parseCovered),
  })
}

function ranging(prefix: string, name: string): RequestOp {
  const key = `${prefix}/${name}`
  return { requestRange: name.endsWith('/') ? { key, rangeEnd: endOf(key) } : { key } }
}

/** Nothing for what is written by a later version. */
function standing(client: EtcdClient, { value, lease }: KeyValue): Promise<StandingMember> | undefined {
  const facts = parseFacts(value.toString())
  return facts && leaseLeft(client, lease).then((leaseLeft_s) => ({ facts, leaseLeft_s }))
}

async function leaseLeft(client: EtcdClient, lease: number): Promise<number | undefined> {
  const said = await client.call('leaseTimeToLive', { ID: lease })
  // -1 of a lease that has ended meanwhile.
  return said.ok ? Math.max(0, said.value.TTL) : undefined
}

function textOf(pairs: readonly KeyValue[] | undefined): string | undefined {
  return pairs?.[0]?.value.toString()
}

function nameIn({ key }: KeyValue): string {
  return key.subarray(key.lastIndexOf('/') + 1).toString()
}
