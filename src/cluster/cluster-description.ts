/** What is in etcd about a cluster, from its beginning on. Of one node it names the only folder that the cluster has. */
export interface ClusterDescription {
  readonly format: 1
  readonly name: string
  /** The id of the data folder that the cluster was begun with. */
  readonly folder: string
  readonly partitions: number
  /** How its logs were begun; nothing where an earlier version has begun it. */
  readonly began?: ClusterBeginning
}

/** A beginning of the logs of a cluster: it has another one when it was recovered. */
export interface ClusterBeginning {
  /** Random. */
  readonly id: string
  /** Behind which record each log goes on, by the names of the logs. */
  readonly behind: Readonly<Record<string, number>>
}

/** Where it stands, below the cluster's prefix. */
export const descriptionKey = 'cluster'

/** The setting that lists the nodes of a cluster of several: one of one node has none. */
export const nodesSetting = 'nodes'

/** Where that stands, below the cluster's prefix. */
export const nodesKey = `setting/${nodesSetting}`

/** The description of a text; nothing when it is none of this format. */
export function parseDescription(text: string): ClusterDescription | undefined {
  try {
    const raw: unknown = JSON.parse(text)
    if (typeof raw !== 'object' || raw === null || !('format' in raw) || raw.format !== 1) return undefined
    if (!('name' in raw) || !('folder' in raw) || !('partitions' in raw)) return undefined
    const { format, name, folder, partitions } = raw
    if (typeof name !== 'string' || typeof folder !== 'string' || typeof partitions !== 'number') return undefined
    if (!('began' in raw)) return { format, name, folder, partitions }
    return isBeginning(raw.began) ? { format, name, folder, partitions, began: raw.began } : undefined
  } catch {
    return undefined // No JSON: the caller says so.
  }
}

function isBeginning(raw: unknown): raw is ClusterBeginning {
  if (typeof raw !== 'object' || raw === null || !('id' in raw) || !('behind' in raw)) return false
  if (typeof raw.id !== 'string' || typeof raw.behind !== 'object' || raw.behind === null) return false
  return Object.values(raw.behind).every((sequence) => Number.isSafeInteger(sequence))
}
