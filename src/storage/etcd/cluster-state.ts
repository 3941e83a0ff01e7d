import { err, ok, type Result } from '../../result.js'
import { jsonIn } from '../../unchecked-json.js'
import type { LogSequence } from '../wal/record-log.js'
import type { EtcdCalls } from './etcd-client.js'
import type { KeyValue, RequestOp } from './etcd-protocol.js'
import { endOf } from './key-watch.js'
import { type ClusterNodes, type NodeFacts, nodesKey, parseFacts, parseNodes } from './node-facts.js'
import { patientCalls } from './patient-calls.js'
import { parseCheckpoints, parseCovered } from './replica-checkpoints.js'

/** A member by its key in etcd. */
export interface StandingMember {
  readonly facts: NodeFacts
  /** Seconds until its lease ends unless it is renewed; undefined if unknown. */
  readonly leaseLeft_s: number | undefined
}

/** The keys of a cluster in etcd at one moment. */
export interface ClusterState {
  readonly description: ClusterDescription
  readonly nodes: ClusterNodes
  /** The revision of their list. */
  readonly nodesRevision: number
  readonly members: readonly StandingMember[]
  /** The names of members whose facts a later version has written. */
  readonly unreadMembers: readonly string[]
  /** The sequence of the last record of each log, by the name of the log. */
  readonly heads: ReadonlyMap<string, LogSequence>
  /** For each log and node, the last record in the node's checkpoint, as last reported. */
  readonly checkpoints: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** For each log and node, the record up to which a start of the node has nothing to apply, as last reported. */
  readonly covered: ReadonlyMap<string, ReadonlyMap<string, number>>
}

/** Reads the state of the cluster at a prefix. Refuses with a sentence for the operator, also when there is no cluster. */
export async function readClusterState(client: EtcdCalls, prefix: string): Promise<Result<ClusterState, string>> {
  const read = await findClusterState(client, prefix)
  if (!read.ok) return read
  return read.value === undefined ? err(`no cluster stands at ${prefix}`) : ok(read.value)
}

/** Reads the state of the cluster at a prefix; undefined when no cluster was begun there. Refuses with a sentence for the operator. */
export async function findClusterState(
  client: EtcdCalls,
  prefix: string,
): Promise<Result<ClusterState | undefined, string>> {
  const success = [descriptionKey, nodesKey, 'member/', 'checkpoints/', 'head/'].map((name) => ranging(prefix, name))
  const read = await client.call('txn', { compare: [], success, failure: [] })
  if (!read.ok) return err(read.error.reason)
  const [cluster, setting, members = [], checkpoints = [], heads = []] = read.value.responses.map(
    ({ responseRange }) => responseRange?.kvs ?? [],
  )
  const text = textOf(cluster)
  if (text === undefined) return ok(undefined)
  const description = parseDescription(text)
  const nodes = parseNodes(textOf(setting) ?? '')
  if (description === undefined || nodes === undefined)
    return err(`what stands at ${prefix} is written by a later version of Rigel, or damaged`)
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

/** The member of a key; undefined when a later version has written it. */
function standing(client: EtcdCalls, { value, lease }: KeyValue): Promise<StandingMember> | undefined {
  const facts = parseFacts(value.toString())
  return facts && leaseLeft(client, lease).then((leaseLeft_s) => ({ facts, leaseLeft_s }))
}

async function leaseLeft(client: EtcdCalls, lease: number): Promise<number | undefined> {
  const response = await client.call('leaseTimeToLive', { ID: lease })
  // -1 stands for a lease that has ended meanwhile.
  return response.ok ? Math.max(0, response.value.TTL) : undefined
}

function textOf(pairs: readonly KeyValue[] | undefined): string | undefined {
  return pairs?.[0]?.value.toString()
}

function nameIn({ key }: KeyValue): string {
  return key.subarray(key.lastIndexOf('/') + 1).toString()
}

/** The description of a cluster, which is written when it is begun. */
export interface ClusterDescription {
  readonly format: 1
  readonly name: string
  /** The id of the data folder that the cluster was begun with. */
  readonly folder: string
  readonly partitions: number
  /** How its logs were begun; undefined when an earlier version has begun it. */
  readonly began?: ClusterBeginning
}

/** A beginning of the logs of a cluster: a recovery begins them anew. */
export interface ClusterBeginning {
  /** A random id. */
  readonly id: string
  /** The sequence behind which each log continues, by the name of the log. */
  readonly behind: Readonly<Record<string, number>>
}

/** The key of the description, below the cluster's prefix. */
export const descriptionKey = 'cluster'

/** Parses a description; undefined when it is malformed or of another format. */
function parseDescription(text: string): ClusterDescription | undefined {
  const raw = jsonIn(text)
  if (typeof raw !== 'object' || raw === null || !('format' in raw) || raw.format !== 1) return undefined
  if (!('name' in raw) || !('folder' in raw) || !('partitions' in raw)) return undefined
  const { format, name, folder, partitions } = raw
  if (typeof name !== 'string' || typeof folder !== 'string' || typeof partitions !== 'number') return undefined
  if (!('began' in raw)) return { format, name, folder, partitions }
  return isBeginning(raw.began) ? { format, name, folder, partitions, began: raw.began } : undefined
}

function isBeginning(raw: unknown): raw is ClusterBeginning {
  if (typeof raw !== 'object' || raw === null || !('id' in raw) || !('behind' in raw)) return false
  if (typeof raw.id !== 'string' || typeof raw.behind !== 'object' || raw.behind === null) return false
  return Object.values(raw.behind).every((sequence) => Number.isSafeInteger(sequence))
}

/**
 * What stands at the prefix of a cluster, as soon as a majority of etcd answers; nothing where none stands. Refuses with a text for the
 * operator. `warn` is told of an etcd that is not meant for use.
 */
export async function standingCluster(
  client: EtcdCalls,
  prefix: string,
  warn: (line: string) => void,
): Promise<Result<ClusterState | undefined, string>> {
  const patient = patientCalls(client)
  const status = await patient.call('status', {})
  if (!status.ok) return err(status.error.reason)
  const found = await findClusterState(patient, prefix)
  if (!found.ok) return found
  const outdated = outdatedText(status.value.version)
  if (outdated !== undefined) warn(outdated)
  return found
}

/**
 * A warning about an outdated etcd: earlier versions lose leases too early or get no fixes any more. Correctness does not depend on
 * leases.
 */
function outdatedText(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const isOutdated = major < 3 || (major === 3 && (minor < 5 || (minor === 5 && patch < 13)))
  return isOutdated ? `etcd ${version} is out of support: 3.5.13 or later is meant for use` : undefined
}
