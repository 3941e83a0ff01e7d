import { compareBytes, type EntityType } from '../context/entity.js'
import type { Count } from '../lmdb/partition-reader.js'
import type { TypeSummary } from './broker.js'

/** What a type and the name of one of its attributes take in memory beside their characters. */
const entry_bytes = 100

/** Adds up the counts of several paths and partitions [context 9]. */
export class TypeSums {
  readonly #types = new Map<EntityType, { entities: number; readonly names: Set<string> }>()
  #bytes = 0

  /** What the types and names take in memory, about. */
  get bytes(): number {
    return this.#bytes
  }

  add({ type, attribute, count }: Count): void {
    const summary = this.#types.get(type) ?? this.#begin(type)
    if (attribute === undefined) summary.entities += count
    else if (!summary.names.has(attribute)) {
      summary.names.add(attribute)
      this.#bytes += entry_bytes + attribute.length
    }
  }

  /** Types ascending, the empty one last, names ascending. */
  summaries(): readonly TypeSummary[] {
    return [...this.#types]
      .map(([type, { entities, names }]) => ({ type, entities, attributes: [...names].sort(compareBytes) }))
      .sort((a, b) => Number(a.type === '') - Number(b.type === '') || compareBytes(a.type, b.type))
  }

  #begin(type: EntityType) {
    const summary = { entities: 0, names: new Set<string>() }
    this.#types.set(type, summary)
    this.#bytes += entry_bytes + type.length
    return summary
  }
}
