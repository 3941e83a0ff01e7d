import { compareBytes, type EntityType } from '../context/entity.js'
import type { Count } from '../lmdb/partition-reader.js'
import type { TypeSummary } from './broker.js'

/** Adds up the counts of several paths and partitions: types ascending, the empty one last, names ascending [context 9]. */
export function summed(counts: readonly Count[]): readonly TypeSummary[] {
  const types = new Map<EntityType, { entities: number; readonly names: Set<string> }>()
  for (const { type, attribute, count } of counts) {
    const summary = types.get(type) ?? { entities: 0, names: new Set<string>() }
    types.set(type, summary)
    if (attribute === undefined) summary.entities += count
    else summary.names.add(attribute)
  }
  return [...types]
    .map(([type, { entities, names }]) => ({ type, entities, attributes: [...names].sort(compareBytes) }))
    .sort((a, b) => Number(a.type === '') - Number(b.type === '') || compareBytes(a.type, b.type))
}
