import { maxAttributes, maxMetadata, maxValues, metadataOf, valuesIn } from '../../model/context/entity-size.js'
import type { Steps } from '../../slices.js'
import { attributeKey, entityKey, type ShownAttribute, type ShownEntity } from './query-plan.js'

/**
 * What providers have given: their elements of one id and type become one entity, in the order of asking; of conflicting attributes
 * the one held here wins, then the one of the provider that was asked first [subscriptions 8.2].
 */
export class ReceivedEntities {
  readonly #entities = new Map<string, ReceivedEntity>()

  /** False when the entity would have more than one may have here: it is shown in one piece, so nothing of the element is taken. */
  add(element: ShownEntity): boolean {
    const key = entityKey(element)
    const entity = this.#entities.get(key) ?? new ReceivedEntity(element)
    if (!entity.add(element.attributes)) return false
    this.#entities.set(key, entity)
    return true
  }

  /** The entities held here with what was received of them, and behind them the others. */
  *behind(held: readonly ShownEntity[]): Steps<readonly ShownEntity[]> {
    const left = new Map(this.#entities)
    const merged: ShownEntity[] = []
    for (const entity of held) {
      const key = entityKey(entity)
      merged.push(left.get(key)?.behind(entity) ?? entity)
      left.delete(key)
      yield
    }
    for (const entity of left.values()) {
      merged.push(entity.whole)
      yield
    }
    return merged
  }
}

/** The elements about one entity; of each attribute instance the first counts. */
class ReceivedEntity {
  readonly #head: Pick<ShownEntity, 'id' | 'type'>
  readonly #attributes = new Map<string, ShownAttribute>()
  #metadata = 0
  #values = 0
  #metadataValues = 0

  constructor({ id, type }: ShownEntity) {
    this.#head = { id, type }
  }

  add(attributes: readonly ShownAttribute[]): boolean {
    const added = attributes.filter((attribute) => !this.#attributes.has(attributeKey(attribute)))
    const metadata = this.#metadata + metadataOf(added)
    const values = this.#values + valuesIn(added)
    const metadataValues = added.reduce((sum, one) => sum + valuesIn(one.metadata), this.#metadataValues)
    if (this.#attributes.size + added.length > maxAttributes || metadata > maxMetadata) return false
    if (values > maxValues || metadataValues > maxValues) return false
    for (const attribute of added) {
      const key = attributeKey(attribute)
      if (!this.#attributes.has(key)) this.#attributes.set(key, attribute)
    }
    this.#metadata = metadata
    this.#values = values
    this.#metadataValues = metadataValues
    return true
  }

  /** For an entity that is not held here. */
  get whole(): ShownEntity {
    return { ...this.#head, attributes: [...this.#attributes.values()] }
  }

  /** The held entity with the attributes that it lacks. */
  behind(held: ShownEntity): ShownEntity {
    const names = new Set(held.attributes.map(({ name }) => name))
    const added = [...this.#attributes.values()].filter(({ name }) => !names.has(name))
    return added.length === 0 ? held : { ...held, attributes: [...held.attributes, ...added] }
  }
}
