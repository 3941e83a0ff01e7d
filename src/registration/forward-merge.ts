import type { Attribute } from '../context/entity.js'
import { entityKey } from './forward-query.js'

/** An entity as answers show it: one that is held here, or what a provider said of one. */
export interface ShownEntity {
  readonly id: string
  readonly type: string
  readonly attributes: readonly ShownAttribute[]
}

/** What answers show of an attribute. */
export type ShownAttribute = Omit<Attribute, 'created' | 'modified'>

/**
 * What was found here and what providers answered, as one: what is held here comes first, then the rest in the order of
 * asking. Elements of one id and type become one, in which what is held here, and then what was asked first, wins
 * [subscriptions 8.2].
 */
export function mergeAnswers(held: readonly ShownEntity[], answered: readonly ShownEntity[]): readonly ShownEntity[] {
  const merged: ShownEntity[] = [...held]
  const growing = new Map<string, Growing>()
  for (const [at, entity] of held.entries()) {
    const key = entityKey(entity)
    if (!growing.has(key)) growing.set(key, new Growing(at, entity))
  }
  for (const element of answered) {
    const key = entityKey(element)
    const entity = growing.get(key) ?? new Growing(merged.length, { ...element, attributes: [] })
    growing.set(key, entity)
    merged[entity.at] = entity.with(element.attributes)
  }
  return merged
}

/** An entity that providers add to. */
class Growing {
  readonly at: number
  readonly #entity: ShownEntity
  readonly #held: ReadonlySet<string>
  readonly #added = new Map<string, ShownAttribute>()

  constructor(at: number, entity: ShownEntity) {
    this.at = at
    this.#entity = entity
    this.#held = new Set(entity.attributes.map(({ name }) => name))
  }

  with(attributes: readonly ShownAttribute[]): ShownEntity {
    for (const attribute of attributes) {
      const key = attributeKey(attribute)
      if (!this.#held.has(attribute.name) && !this.#added.has(key)) this.#added.set(key, attribute)
    }
    return { ...this.#entity, attributes: [...this.#entity.attributes, ...this.#added.values()] }
  }
}

function attributeKey({ name, instance }: ShownAttribute): string {
  return `${name.length}:${name}${instance}` // As for entities.
}
