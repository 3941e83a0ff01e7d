/** What is in etcd about a cluster. Of one node it names the only folder that the cluster has. */
export interface ClusterDescription {
  readonly format: 1
  readonly name: string
  readonly folder: string
  readonly partitions: number
}

/** Where it stands, below the cluster's prefix. */
export const descriptionKey = 'cluster'

/** The description of a text; nothing when it is none of this format. */
export function parseDescription(text: string): ClusterDescription | undefined {
  try {
    const raw: unknown = JSON.parse(text)
    if (typeof raw !== 'object' || raw === null || !('format' in raw) || raw.format !== 1) return undefined
    if (!('name' in raw) || !('folder' in raw) || !('partitions' in raw)) return undefined
    const { format, name, folder, partitions } = raw
    if (typeof name !== 'string' || typeof folder !== 'string' || typeof partitions !== 'number') return undefined
    return { format, name, folder, partitions }
  } catch {
    return undefined // No JSON: the caller says so.
  }
}
