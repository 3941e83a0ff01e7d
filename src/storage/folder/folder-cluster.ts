import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathExists, replaceFile } from '../../folder.js'
import { readOwnText } from '../../text-file.js'

/** The cluster that a data folder belongs to. */
export interface ClusterFact {
  readonly name: string
  /** The prefix of the cluster's keys in etcd. */
  readonly prefix: string
  /** `joining` until everything of it is in etcd. */
  readonly state: 'joining' | 'member'
  /** The beginning of the cluster's logs that a member follows; undefined when an earlier version has begun them. */
  readonly began?: string | undefined
}

/** The file that names the cluster of a folder; without it the folder belongs to none. */
function clusterFile(path: string): string {
  return join(path, 'cluster.json')
}

const wayOut = 'restore it from a backup of the folder'

/** The cluster of a folder; undefined when it has none. Throws when its file cannot be read. */
export function readClusterFact(path: string): ClusterFact | undefined {
  const file = clusterFile(path)
  if (!pathExists(file)) return undefined
  const fact = parsed(readOwnText(file, wayOut))
  if (fact === undefined) throw new Error(`${file} is damaged: ${wayOut}`)
  return fact
}

/** Notes durably to which cluster a folder belongs. */
export function noteClusterFact(path: string, { name, prefix, state, began }: ClusterFact): void {
  replaceFile(clusterFile(path), `${JSON.stringify({ name, prefix, state, began })}\n`)
}

/** Removes a folder from the cluster that it was to join. */
export function forgetClusterFact(path: string): void {
  rmSync(clusterFile(path), { force: true })
}

/**
 * Why a folder is not opened by a broker that is to be of this cluster, or of none; nothing when it is. What a member has not
 * applied stands in etcd, so it is not opened without.
 */
export function clusterRefusal(path: string, requested: string | undefined): string | undefined {
  const held = readClusterFact(path)
  if (held === undefined || held.name === requested) return undefined
  const { name } = held
  return requested === undefined
    ? `${path} belongs to cluster ${name}: start with -cluster ${name}; how it leaves the cluster is in docs/cluster.md`
    : `${path} belongs to cluster ${name}, not to ${requested}: start with -cluster ${name}, or with another -dbPath`
}

/** Why a command refuses a folder that no broker has open; undefined when it takes it. */
export function commandRefusal(path: string): string | undefined {
  const held = readClusterFact(path)
  if (held === undefined) return undefined
  return `${path} belongs to cluster ${held.name}: commands on a folder are for those of single brokers, since a part of its data may stand in etcd only. Ask the running broker (GET /admin/backup), or let the folder leave the cluster as docs/cluster.md says`
}

function parsed(text: string): ClusterFact | undefined {
  try {
    const raw: unknown = JSON.parse(text)
    if (typeof raw !== 'object' || raw === null || !('name' in raw) || !('prefix' in raw) || !('state' in raw)) {
      return undefined
    }
    const { name, prefix, state } = raw
    if (typeof name !== 'string' || typeof prefix !== 'string') return undefined
    if (state !== 'joining' && state !== 'member') return undefined
    const began = 'began' in raw && typeof raw.began === 'string' ? raw.began : undefined
    return { name, prefix, state, began }
  } catch {
    return undefined // No JSON: the caller reports it like other damage.
  }
}
