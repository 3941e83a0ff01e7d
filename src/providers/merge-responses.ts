import type { Attribute, Entity } from '../context/entity.js'
import { entityKey } from './query-plan.js'

/** An entity as answers show it: one that is held here, or what a provider said of one, which has no path and no dates. */
export interface ShownEntity
  extends Pick<Entity, 'id' | 'type'>,
    Partial<Pick<Entity, 'path' | 'created' | 'modified'>> {
  readonly attributes: readonly ShownAttribute[]
}

/** What answers show of an attribute; one of a provider has no dates. */
export type ShownAttribute = Omit<Attribute, Dates> & Partial<Pick<Attribute, Dates>>

type Dates = 'created' | 'modified'

/**
 * What was found here and what providers answered, as one: what is held here comes first, then the rest in the order of
 * asking. Elements of one id and type become one, in which what is held here, and then what was asked first, wins
 * [subscriptions 8.2].
 */
export function mergeResponses(held: readonly ShownEntity[], answered: readonly ShownEntity[]): readonly ShownEntity[] {
  const entities = new Map<string, Growing>()
  for (const element of answered) {
    const key = entityKey(element)
    const entity = entities.get(key) ?? new Growing(element)
    entities.set(key, entity)
    entity.add(element.attributes)
  }
  const merged = held.map((entity) => {
    const key = entityKey(entity)
    const grown = entities.get(key)
    entities.delete(key)
    return grown === undefined ? entity : grown.behind(entity)
  })
  return [...merged, ...Array.from(entities.values(), (entity) => entity.whole)]
}

/** What providers say of one entity: of each instance what comes first. */
class Growing {
  readonly #head: Pick<ShownEntity, 'id' | 'type'>
  readonly #attributes = new Map<string, ShownAttribute>()

  constructor({ id, type }: ShownEntity) {
    this.#head = { id, type }
  }

  add(attributes: readonly ShownAttribute[]): void {
    for (const attribute of attributes) {
      const key = attributeKey(attribute)
      if (!this.#attributes.has(key)) this.#attributes.set(key, attribute)
    }
  }

  /** For an entity that is not held here. */
  get whole(): ShownEntity {
    return { ...this.#head, attributes: [...this.#attributes.values()] }
  }

  /** Behind what is held here of the entity, of which no attribute is told again. */
  behind(held: ShownEntity): ShownEntity {
    const names = new Set(held.attributes.map(({ name }) => name))
    const added = [...this.#attributes.values()].filter(({ name }) => !names.has(name))
    return added.length === 0 ? held : { ...held, attributes: [...held.attributes, ...added] }
  }
}

function attributeKey({ name, instance }: ShownAttribute): string {
  return `${name.length}:${name}${instance}` // As for entities.
}
