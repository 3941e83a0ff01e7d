import { LruCache } from '../../lru-cache.js'
import type { Entity } from '../../model/context/entity.js'
import { prepared } from '../../model/context/entity-forms.js'
import { LargeEntity } from '../../model/context/large/large-entity.js'
import { decodeLarge } from '../records/large-record.js'

/** From this many characters on, decoding the record of an entity delays turns. */
const largeFrom = 4096

/** The approximate memory of an entity per character of its record. */
const characterSize_bytes = 8

interface Known {
  readonly text: string
  readonly entity: Entity
}

/**
 * Large entities as the turns before have read or left them. A request that updates one thousands of times takes many turns,
 * of which each would else read it anew. An entity is known by the text of its record: what is held for another text is not used.
 */
export class KnownEntities {
  readonly #held: LruCache<Known>

  constructor(limit_bytes: number) {
    this.#held = new LruCache(limit_bytes)
  }

  /** The entity of a record, decoded if it is not known. */
  entity(sequence: number, text: string, decode: () => Entity): Entity {
    if (text.length < largeFrom) return decode()
    const known = this.#held.get(String(sequence))
    if (known?.text === text) return known.entity
    const entity = prepared(decodeLarge(text, decode) ?? decode())
    this.put(sequence, text, entity)
    return entity
  }

  /** Holds an entity that a turn has written, unless it is large by its texts alone, which are decoded fast. */
  put(sequence: number, text: string, entity: Entity): void {
    if (text.length < largeFrom || !(entity instanceof LargeEntity)) return
    this.#held.put(String(sequence), { text, entity }, text.length * characterSize_bytes)
  }
}
