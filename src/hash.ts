/**
 * The number of the partition that owns an entity: a hash of tenant and id, never of the type, since a request without
 * a type means all types of an id. It is part of the format on disk: FNV-1a over the UTF-16 units, finished with the
 * mixing steps of MurmurHash3, so that ids which differ in their last characters only spread evenly.
 */
export function shardOf(tenant: string, id: string, partitions: number): number {
  return partitions === 1 ? 0 : hashOf(tenant, id) % partitions
}

/** The hash of a tenant and an id, of 32 bits, all of which are mixed well. */
export function hashOf(tenant: string, id: string): number {
  let hash = fnv1a(id, fnv1a('\u0000', fnv1a(tenant)))
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** FNV-1a over the UTF-16 units of a text, from where the hash of what comes before it ended. */
export function fnv1a(text: string, before = 0x811c9dc5): number {
  let hash = before
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}
