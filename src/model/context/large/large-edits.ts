import { err, ok, type Result } from '../../../result.js'
import type { AttributeEdits, Updated } from '../attribute-edits.js'
import { type Attribute, compareAttributes, type Entity } from '../entity.js'
import type { Measure } from '../entity-size.js'
import { withOneLocation } from '../location.js'
import type { UpdateRefusal } from '../update.js'
import { ChunkedList } from './chunked-list.js'
import { attributeMeasure, attributeOf, metadataHeld, valueHeld } from './large-attribute.js'
import { difference, isInOrder, type LargeEntity, sum } from './large-entity.js'

/** The edits of a large entity. The cost depends on what changes, not on the size of the entity. */
export class LargeEdits implements AttributeEdits {
  readonly #entity: LargeEntity
  #list: ChunkedList<Attribute>
  readonly #added: Attribute[] = []
  /** Positions of attributes that got an ID, and may no longer be in order. */
  readonly #moved: number[] = []
  /** Locations in the list. */
  readonly #locations = new Set<Attribute>()
  #measure: Measure | undefined

  constructor(entity: LargeEntity) {
    this.#entity = entity
    this.#list = entity.list
    this.#measure = entity.counted
    if (entity.location) this.#locations.add(entity.location)
  }

  at(position: number): Attribute | undefined {
    return position === -1 ? undefined : this.#list.at(position)
  }

  replace(position: number, made: Attribute): Attribute {
    const attribute = this.#entity.prepared(made)
    const held = this.#list.at(position)
    if (held === undefined) throw new RangeError(`there is no attribute at ${position}`)
    this.#list = this.#list.replaced(position, attribute)
    if (held.instance !== attribute.instance) this.#moved.push(position)
    this.#count(attribute, held)
    this.#locations.delete(held)
    if (attribute.isLocation) this.#locations.add(attribute)
    return attribute
  }

  add(made: Attribute): Attribute {
    const attribute = this.#entity.prepared(made)
    this.#added.push(attribute)
    this.#count(attribute, undefined)
    return attribute
  }

  location(apart: Attribute | undefined): Attribute | undefined {
    const [first] = [...this.#locations].filter((location) => location !== apart).sort(compareAttributes)
    return first ?? this.#added.find((attribute) => attribute.isLocation && attribute !== apart)
  }

  entity(updated: Updated, located: Attribute | undefined, mayTakeOver: boolean): Result<Entity, UpdateRefusal> {
    const list = this.#merged()
    if (list === undefined) return this.#asArray(updated, located, mayTakeOver)
    const locations = [...this.#locations, ...this.#added.filter(({ isLocation }) => isLocation)]
    if (located === undefined) return ok(this.#with(updated, list, locations[0]))
    const others = locations.filter((location) => location !== located).sort(compareAttributes)
    const [other] = others
    if (other !== undefined && !mayTakeOver) {
      return err({ kind: 'termsUnmet', why: { kind: 'locationsTooMany', name: located.name, held: other.name } })
    }
    const edited = others.reduce((left, location) => withoutMark(left, location), list)
    return ok(this.#with(updated, edited, located))
  }

  #count(attribute: Attribute, held: Attribute | undefined): void {
    if (this.#measure === undefined) return
    const more = sum(this.#measure, attributeMeasure(attribute))
    this.#measure = held === undefined ? more : difference(more, attributeMeasure(held))
  }

  /** The list with the added attributes in order; undefined when the attributes are not in order, or one is there twice. */
  #merged(): ChunkedList<Attribute> | undefined {
    let list = this.#list
    for (const at of this.#moved) {
      const neighbours = [list.at(at - 1), list.at(at), list.at(at + 1)].filter((each) => each !== undefined)
      if (!isInOrder(neighbours)) return undefined
    }
    if (this.#added.length * fewOf > list.length) {
      const attributes = this.#array()
      return isInOrder(attributes) ? ChunkedList.of(attributes) : undefined
    }
    for (const attribute of this.#added) {
      const position = list.firstFrom((held) => compareAttributes(held, attribute))
      const next = list.at(position)
      if (next !== undefined && compareAttributes(next, attribute) === 0) return undefined
      list = list.inserted(position, [attribute])
    }
    return list
  }

  #array(): Attribute[] {
    const attributes = [...this.#list.toArray(), ...this.#added]
    return this.#added.length === 0 ? attributes : attributes.sort(compareAttributes)
  }

  #asArray(updated: Updated, located: Attribute | undefined, mayTakeOver: boolean): Result<Entity, UpdateRefusal> {
    const attributes = this.#array()
    const edited = located === undefined ? ok(attributes) : withOneLocation(attributes, located, mayTakeOver)
    if (!edited.ok) return edited
    return ok({ ...this.#entity, attributes: edited.value, ...updated })
  }

  #with(updated: Updated, list: ChunkedList<Attribute>, location: Attribute | undefined): LargeEntity {
    return this.#entity.with(updated, { list, location, measure: this.#measure })
  }
}

/** When the added attributes are at least one in this many, all attributes are sorted at once. */
const fewOf = 8

/** The list with this attribute no longer marked as a location. */
function withoutMark(list: ChunkedList<Attribute>, location: Attribute): ChunkedList<Attribute> {
  const position = list.firstFrom((held) => compareAttributes(held, location))
  return list.replaced(position, unmarked(location))
}

function unmarked(location: Attribute): Attribute {
  const { name, instance, type, created, modified } = location
  const [value, metadata] = [valueHeld(location), metadataHeld(location)]
  return attributeOf({ name, instance, type, value, isLocation: false, metadata, created, modified })
}

/** A large entity without the attributes at these positions. */
export function withoutAttributes(entity: LargeEntity, gone: ReadonlySet<number>, updated: Updated): LargeEntity {
  let { location, counted: measure } = entity
  for (const at of gone) {
    const attribute = entity.list.at(at)
    if (attribute === undefined) continue
    if (attribute === location) location = undefined
    measure &&= difference(measure, attributeMeasure(attribute))
  }
  return entity.with(updated, { list: entity.list.withoutPositions(gone), location, measure })
}
