import type { Milliseconds } from '../../../time.js'
import { type Attribute, compareAttributes, type Entity } from '../entity.js'
import type { Measure } from '../entity-size.js'
import { ChunkedList } from './chunked-list.js'
import { attributeMeasure, preparedAttribute } from './large-attribute.js'
import { largeFrom } from './weight.js'

/** The attributes of a large entity, with derived facts. */
export interface LargeAttributes {
  readonly list: ChunkedList<Attribute>
  /** The attribute that is the entity's location. */
  readonly location: Attribute | undefined
  /** Undefined until it is asked for. */
  readonly measure: Measure | undefined
  /** The least weight from which a value or the metadata of an attribute has the form for large ones. */
  readonly from: number
}

/**
 * An entity to which a turn applies many updates. Its versions share what they have in common, so that an update costs what it
 * changes. Its attributes are in order and distinct, and at most one is the location. Other code uses it as any entity: the array
 * of attributes is made when it is first read.
 */
export class LargeEntity implements Entity {
  readonly path: Entity['path']
  readonly id: Entity['id']
  readonly type: Entity['type']
  readonly sequence: Entity['sequence']
  readonly created: Milliseconds
  readonly modified: Milliseconds
  readonly correlator: string | undefined
  declare readonly attributes: readonly Attribute[]
  readonly #held: LargeAttributes
  #array: readonly Attribute[] | undefined
  #measure: Measure | undefined

  constructor(entity: Omit<Entity, 'attributes'>, held: LargeAttributes) {
    this.path = entity.path
    this.id = entity.id
    this.type = entity.type
    this.sequence = entity.sequence
    this.created = entity.created
    this.modified = entity.modified
    this.correlator = entity.correlator
    this.#held = held
    this.#measure = held.measure
    Object.defineProperty(this, 'attributes', ownAttributes)
  }

  /** An entity in this form; undefined when its attributes are out of order, repeated, or have several locations. */
  static of(entity: Entity, from = largeFrom): LargeEntity | undefined {
    if (entity instanceof LargeEntity) return entity
    const attributes = entity.attributes.map((attribute) => preparedAttribute(attribute, from))
    if (!isInOrder(attributes)) return undefined
    const [location, another] = attributes.filter(({ isLocation }) => isLocation)
    if (another !== undefined) return undefined
    return new LargeEntity(entity, { list: ChunkedList.of(attributes), location, measure: undefined, from })
  }

  static arrayOf(entity: LargeEntity): readonly Attribute[] {
    entity.#array ??= entity.list.toArray()
    return entity.#array
  }

  get list(): ChunkedList<Attribute> {
    return this.#held.list
  }

  get location(): Attribute | undefined {
    return this.#held.location
  }

  /** Counted once; later only changes are counted. */
  get measure(): Measure {
    this.#measure ??= this.list.toArray().map(attributeMeasure).reduce(sum, nothing)
    return this.#measure
  }

  /** Its measure if it was counted already. */
  get counted(): Measure | undefined {
    return this.#measure
  }

  /** The entity after an update. */
  with(
    { modified, correlator }: Pick<Entity, 'modified' | 'correlator'>,
    held: Omit<LargeAttributes, 'from'>,
  ): LargeEntity {
    const { path, id, type, sequence, created } = this
    const entity = { path, id, type, sequence, created, modified, correlator }
    return new LargeEntity(entity, { ...held, from: this.#held.from })
  }

  /** An attribute in the form in which the entity holds it. */
  prepared(attribute: Attribute): Attribute {
    return preparedAttribute(attribute, this.#held.from)
  }

  /** The position of the attribute of this name and instance; -1 if there is none. */
  positionOf(sought: Pick<Attribute, 'name' | 'instance'>): number {
    const position = this.list.firstFrom((held) => compareAttributes(held, sought))
    const found = this.list.at(position)
    return found !== undefined && found.name === sought.name && found.instance === sought.instance ? position : -1
  }
}

/** A property of the object itself, so that whatever copies or writes its members finds it. */
const ownAttributes: PropertyDescriptor = {
  enumerable: true,
  get(this: LargeEntity) {
    return LargeEntity.arrayOf(this)
  },
}

const nothing: Measure = { size: 0, values: 0, metadata: 0 }

export function sum(a: Measure, b: Measure): Measure {
  return { size: a.size + b.size, values: a.values + b.values, metadata: a.metadata + b.metadata }
}

export function difference(a: Measure, b: Measure): Measure {
  return { size: a.size - b.size, values: a.values - b.values, metadata: a.metadata - b.metadata }
}

/** Whether the attributes are in strictly ascending order. */
export function isInOrder(attributes: readonly Attribute[]): boolean {
  return attributes.every((attribute, at) => {
    const before = attributes[at - 1]
    return before === undefined || compareAttributes(before, attribute) < 0
  })
}
