import { LruCache } from '../../lru-cache.js'
import type { Entity } from '../../model/context/entity.js'
import { heapSize } from '../../model/context/heap-size.js'
import type { VersionGroup, Versions } from '../../threads/shared-memory/versions.js'

/** Entities that were read, and the version of their group of ids before the read. */
interface RecentRead {
  readonly version: number
  readonly entities: readonly Entity[]
}

/** A response shows the first of its entities twice: with it, what is held takes up to three times the memory. */
const responseFactor = 3

/**
 * Entities that a front end has read lately, decoded. Nobody tells it when they change: whenever it is asked it compares
 * the version of the id's group with the one from before the read.
 */
export class RecentEntities {
  readonly #read: LruCache<RecentRead>

  /** Holds at most this many bytes of entities and of the responses rendered from them. */
  constructor(limit_bytes: number) {
    this.#read = new LruCache(limit_bytes)
  }

  /** The entities that were read under this name, if they have not changed since. */
  get(name: string, group: VersionGroup, versions: Versions): readonly Entity[] | undefined {
    const read = this.#read.get(name)
    return read?.version === versions.changesOf(group) ? read.entities : undefined
  }

  /**
   * Reads and remembers it, unless it is changing. Nothing found is not remembered: ids that do not exist are as many as
   * clients like.
   */
  read<Found extends readonly Entity[] | undefined>(
    name: string,
    group: VersionGroup,
    versions: Versions,
    read: () => Found,
  ): Found {
    const version = versions.endedChangesOf(group)
    const entities = read()
    if (version !== undefined && entities !== undefined && entities.length > 0)
      this.#read.put(name, { version, entities }, heapSize(entities) * responseFactor)
    return entities
  }
}
