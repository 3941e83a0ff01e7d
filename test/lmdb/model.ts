import fc from 'fast-check'
import { applyUpdate } from '../../src/model/context/apply.js'
import type { Entity } from '../../src/model/context/entity.js'
import type { UpdateCommand } from '../../src/model/context/update.js'
import type { Snapshot } from '../../src/storage/store/partition-reader.js'
import { command, path, tenant, type } from '../given.js'

const anyText = fc.oneof(
  fc.constantFrom('', 'a', 'é', '\u{1f600}', ' ', '\u0000'),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
)
const anyValue = fc.oneof(
  anyText,
  fc.constantFrom(0, -1.5, 1e21),
  fc.boolean(),
  fc.constant(null),
  fc.array(anyText, { maxLength: 2 }),
)
/** A command about one of few entities. */
export const anyCommand = fc
  .record({
    action: fc.constantFrom('APPEND', 'APPEND_STRICT', 'UPDATE', 'REPLACE', 'DELETE'),
    entity: fc.constantFrom('E', 'F'),
    where: fc.constantFrom('/', '/a'),
    kind: fc.option(fc.constantFrom('', 'T', 'U'), { nil: undefined }),
    attributes: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c'),
        instance: fc.constantFrom('', 'i'),
        type: fc.constantFrom('', 't'),
        value: anyValue,
        metadata: fc.array(
          fc.record({ name: fc.constantFrom('m', 'n'), type: anyText, value: anyValue }, { noNullPrototype: true }),
          {
            maxLength: 2,
          },
        ),
      }),
      { maxLength: 3, selector: ({ name, instance }) => `${name} ${instance}` },
    ),
  })
  .map(({ action, entity, where, kind, attributes }) =>
    command(action, entity, attributes, { path: path(where), ...(kind === undefined ? {} : { type: type(kind) }) }),
  )

/** The same rules on a list in memory: what the store has to agree with. */
export class Model {
  entities: readonly Entity[] = []

  apply(next: UpdateCommand): void {
    const held = this.entities.filter((entity) => entity.id === next.id && entity.path === next.path)
    for (const effect of applyUpdate(held, next).effects) {
      const rest = this.entities.filter(({ sequence }) => sequence !== effect.entity.sequence)
      this.entities = effect.kind === 'put' ? [...rest, effect.entity].sort((a, b) => a.sequence - b.sequence) : rest
    }
  }

  counts(): Map<string, number> {
    const counts = new Map<string, number>()
    const count = (name: string): unknown => counts.set(name, (counts.get(name) ?? 0) + 1)
    for (const entity of this.entities) {
      count(`${entity.path} ${entity.type}`)
      for (const name of new Set(entity.attributes.map((attribute) => attribute.name)))
        count(`${entity.path} ${entity.type} ${name}`)
    }
    return counts
  }
}

/** The counts of entities and attributes that a snapshot has, as `Model.counts` names them. */
export function countsIn(snapshot: Snapshot): Map<string, number> {
  return new Map(
    Array.from(snapshot.counts(tenant), ({ path: where, type: kind, attribute, count }) => [
      attribute === undefined ? `${where} ${kind}` : `${where} ${kind} ${attribute}`,
      count,
    ]),
  )
}
