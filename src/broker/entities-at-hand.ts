import type { Entity } from '../context/entity.js'
import { heapSize } from '../context/heap-size.js'
import { LruCache } from '../lru-cache.js'
import type { VersionGroup, Versions } from '../shared-memory/versions.js'

/** What was read, and the mark that its group of ids had before. */
interface Read {
  readonly mark: number
  readonly entities: readonly Entity[]
}

/** An answer shows the first of its entities twice: with it, what is held takes up to three times the memory. */
const withAnswer = 3

/**
 * Entities that a front end has read lately, decoded. Nobody tells it when they change: whenever it is asked it compares
 * the mark of the id's group with the one that was there before it read.
 */
export class EntitiesAtHand {
  readonly #read: LruCache<Read>

  /** Holds at most so many bytes of entities and of the answers that are worded of them. */
  constructor(limit_bytes: number) {
    this.#read = new LruCache(limit_bytes)
  }

  /** What was read under this name and has not changed since. */
  get(name: string, group: VersionGroup, versions: Versions): readonly Entity[] | undefined {
    const read = this.#read.get(name)
    return read?.mark === versions.changesOf(group) ? read.entities : undefined
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
    const mark = versions.endedChangesOf(group)
    const entities = read()
    if (mark !== undefined && entities !== undefined && entities.length > 0)
      this.#read.put(name, { mark, entities }, heapSize(entities) * withAnswer)
    return entities
  }
}
