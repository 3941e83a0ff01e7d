import type { Metadata, Value } from '../entity.js'
import type { GivenAttribute } from '../update.js'
import type { HeldValue } from './large-attribute.js'
import type { LargeValue } from './large-value.js'

/** An attribute of a request with a large value, which is materialised when somebody reads it: most updates only store it. */
class LargeGiven implements GivenAttribute {
  readonly name: string
  readonly instance: string
  readonly type: string
  declare readonly value: Value
  readonly location: string | undefined
  readonly metadata: readonly Metadata[]
  readonly #value: LargeValue

  constructor({ name, instance, type, location, metadata }: Omit<GivenAttribute, 'value'>, value: LargeValue) {
    this.name = name
    this.instance = instance
    this.type = type
    Object.defineProperty(this, 'value', ownValue)
    this.location = location
    this.metadata = metadata
    this.#value = value
  }

  get heldValue(): LargeValue {
    return this.#value
  }
}

/** A property of the object itself, so that whatever copies or writes its members finds it. */
const ownValue: PropertyDescriptor = {
  enumerable: true,
  get(this: LargeGiven) {
    return this.heldValue.value
  },
}

export function largeGiven(attribute: Omit<GivenAttribute, 'value'>, value: LargeValue): GivenAttribute {
  return new LargeGiven(attribute, value)
}

export function isLargeGiven(given: object): boolean {
  return given instanceof LargeGiven
}

/** The value that a request gives, not materialised if it is large; undefined when it gives none. */
export function valueGiven(given: Pick<GivenAttribute, 'value'>): HeldValue | undefined {
  return given instanceof LargeGiven ? given.heldValue : given.value
}
