import type { Milliseconds } from '../../../time.js'
import type { Attribute, Metadata, Value } from '../entity.js'
import { attributeFrame, type Measure, measureOfAttribute, sizeOfMetadata, valueMeasure } from '../entity-size.js'
import { renderValue, sameValue, shownType } from '../value.js'
import { LargeMetadata } from './large-metadata.js'
import { LargeValue } from './large-value.js'
import { weightOfMetadata, weightOfValue } from './weight.js'

export type HeldValue = Value | LargeValue

export type HeldMetadata = readonly Metadata[] | LargeMetadata

/** The parts of an attribute, large ones in the form for large values and metadata. */
export interface AttributeParts extends Omit<Attribute, 'value' | 'metadata'> {
  readonly value: HeldValue
  readonly metadata: HeldMetadata
}

/** An attribute with a large value or much metadata, which are materialised when they are first read. */
class LargeAttribute implements Attribute {
  readonly name: string
  readonly instance: string
  readonly type: string
  declare readonly value: Value
  readonly isLocation: boolean
  declare readonly metadata: readonly Metadata[]
  readonly created: Milliseconds
  readonly modified: Milliseconds
  readonly #value: HeldValue
  readonly #metadata: HeldMetadata
  #measure: Measure | undefined

  constructor({ name, instance, type, value, isLocation, metadata, created, modified }: AttributeParts) {
    this.name = name
    this.instance = instance
    this.type = type
    Object.defineProperty(this, 'value', ownValue)
    this.isLocation = isLocation
    Object.defineProperty(this, 'metadata', ownMetadata)
    this.created = created
    this.modified = modified
    this.#value = value
    this.#metadata = metadata
  }

  get heldValue(): HeldValue {
    return this.#value
  }

  get heldMetadata(): HeldMetadata {
    return this.#metadata
  }

  /** What it adds to the measure of its entity. */
  get measure(): Measure {
    this.#measure ??= this.#counted()
    return this.#measure
  }

  #counted(): Measure {
    const [value, metadata] = [this.#value, this.#metadata]
    const { size, values } = value instanceof LargeValue ? value.measure : valueMeasure(value)
    const ofMetadata = metadata instanceof LargeMetadata ? metadata.size : sizeOfMetadata(metadata)
    return { size: attributeFrame(this) + size + ofMetadata, values, metadata: metadata.length }
  }
}

/** A property of the object itself, so that whatever copies or writes its members finds it. */
const ownValue: PropertyDescriptor = {
  enumerable: true,
  get(this: LargeAttribute) {
    return plainValue(this.heldValue)
  },
}

const ownMetadata: PropertyDescriptor = {
  enumerable: true,
  get(this: LargeAttribute) {
    return plainMetadata(this.heldMetadata)
  },
}

export function attributeOf(parts: AttributeParts): Attribute {
  const { name, instance, type, value, isLocation, metadata, created, modified } = parts
  if (value instanceof LargeValue || metadata instanceof LargeMetadata) return new LargeAttribute(parts)
  return { name, instance, type, value, isLocation, metadata, created, modified }
}

/** An attribute whose parts of at least this weight have the form for large ones. */
export function preparedAttribute(attribute: Attribute, from: number): Attribute {
  if (attribute instanceof LargeAttribute) return attribute
  const value = preparedValue(attribute.value, from)
  const metadata = preparedMetadata(attribute.metadata, from)
  if (value === attribute.value && metadata === attribute.metadata) return attribute
  return attributeOf({ ...attribute, value, metadata })
}

function preparedValue(value: Value, from: number): HeldValue {
  if (typeof value !== 'object' || value === null) return value
  return weightOfValue(value, from) >= from ? LargeValue.of(value) : value
}

function preparedMetadata(metadata: readonly Metadata[], from: number): HeldMetadata {
  if (weightOfMetadata(metadata, from) < from) return metadata
  return LargeMetadata.of(metadata) ?? metadata
}

/** The value of an attribute, not materialised if it is large. */
export function valueHeld(attribute: Pick<Attribute, 'value'>): HeldValue {
  return attribute instanceof LargeAttribute ? attribute.heldValue : attribute.value
}

/** The metadata of an attribute, not materialised if there is much of it. */
export function metadataHeld(attribute: Attribute): HeldMetadata {
  return attribute instanceof LargeAttribute ? attribute.heldMetadata : attribute.metadata
}

/** Whether two values are equal; as `sameValue`, of large ones by their texts. */
export function isSameValue(a: HeldValue, b: HeldValue): boolean {
  if (a === b) return true
  if (a instanceof LargeValue) return a.isSame(b)
  return b instanceof LargeValue ? b.isSame(a) : sameValue(a, b)
}

/** Renders a value as `renderValue` does: a large one as the text that it was read as, without materialising it. */
export function renderHeld(held: HeldValue, type: string): string {
  return held instanceof LargeValue ? held.json : renderValue(held, type)
}

/** The type that clients see of a value with this type, which may be empty. */
export function typeShown(type: string, held: HeldValue): string {
  return shownType({ type, value: held instanceof LargeValue ? [] : held })
}

export function plainValue(held: HeldValue): Value {
  return held instanceof LargeValue ? held.value : held
}

export function plainMetadata(held: HeldMetadata): readonly Metadata[] {
  return held instanceof LargeMetadata ? held.array : held
}

/** The type that clients of NGSIv2 see; does not materialise a large value. */
export function shownTypeOf(attribute: Attribute): string {
  const { type } = attribute
  return type === '' ? typeShown(type, valueHeld(attribute)) : type
}

/** What an attribute adds to the measure of its entity. */
export function attributeMeasure(attribute: Attribute): Measure {
  return attribute instanceof LargeAttribute ? attribute.measure : measureOfAttribute(attribute)
}
