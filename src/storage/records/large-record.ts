import type { Entity, Value } from '../../model/context/entity.js'
import { attributeOf, metadataHeld, preparedAttribute } from '../../model/context/large/large-attribute.js'
import { LargeEntity } from '../../model/context/large/large-entity.js'
import { LargeValue } from '../../model/context/large/large-value.js'
import { measureText, valueEnd } from '../../model/context/large/text-measure.js'
import { largeFrom } from '../../model/context/large/weight.js'
import type { Entities } from '../../model/context/query.js'
import { decodeEntity } from './record.js'

/** Records with fewer characters are decoded as fast as they are measured. */
const measuredFrom_characters = 32 * 1024

/** The entity of a record, for a reader: large values are made only when somebody reads them, since most are shown as they stand. */
export function decodeToRead(text: string): Entity {
  const large = text.length < measuredFrom_characters ? undefined : decodeLarge(text, () => decodeEntity(text))
  return large ?? decodeEntity(text)
}

/** Entities that are decoded one by one, on demand. */
export class StoredEntities implements Entities {
  readonly #records: readonly string[]

  constructor(records: readonly string[]) {
    this.#records = records
  }

  get length(): number {
    return this.#records.length
  }

  *[Symbol.iterator](): Generator<Entity> {
    for (const record of this.#records) yield decodeToRead(record)
  }
}

/** Values with shorter texts are decoded with their entity. */
const laidAsideFrom_characters = 2048

/** A large array or object in a record. */
interface ValueText {
  /** The index of its attribute. */
  readonly attribute: number
  readonly from: number
  readonly to: number
  readonly value: LargeValue
}

/**
 * The entity of a record of which large values are made when somebody reads them, and written as they were read while nobody changes them: an update
 * of another attribute does not wait for an object of 50,000 members. Nothing when there are no such values, or the record is not as it should be.
 *
 * @param decode gives the whole entity, and throws when the record cannot be read
 */
export function decodeLarge(text: string, decode: () => Entity): LargeEntity | undefined {
  const found = attempt(() => valuesIn(text, decode))
  if (found === undefined || found.length === 0) return undefined
  const pieces: string[] = []
  let from = 0
  for (const value of found) {
    pieces.push(text.slice(from, value.from), '0')
    from = value.to
  }
  const entity = attempt(() => decodeEntity(`${pieces.join('')}${text.slice(from)}`))
  if (entity === undefined) return undefined
  const attributes = [...entity.attributes]
  for (const { attribute: at, value } of found) {
    const read = attributes[at]
    if (read === undefined) return undefined
    const attribute = preparedAttribute(read, largeFrom)
    attributes[at] = attributeOf({ ...attribute, metadata: metadataHeld(attribute), value })
  }
  return LargeEntity.of({ ...entity, attributes })
}

/** The large values of a record, in their order. */
function valuesIn(text: string, decode: () => Entity): readonly ValueText[] {
  let whole: Entity | undefined
  const madeOf = (attribute: number) => (): Value => {
    whole ??= decode()
    return whole.attributes[attribute]?.value ?? null
  }
  const found: ValueText[] = []
  let at = elementsBefore(text, 0, attributesAt) + 1
  for (let attribute = 0; text[at] === '['; attribute += 1) {
    const from = elementsBefore(text, at, valueAt)
    let to = valueEnd(text, from)
    if (to - from >= laidAsideFrom_characters && (text[from] === '{' || text[from] === '[')) {
      const { size, values } = measureText(text, from)
      if (values >= largeFrom) {
        const value = LargeValue.written(text.slice(from, to), { size, values }, madeOf(attribute))
        found.push({ attribute, from, to, value })
      }
    }
    while (text[to] === ',') to = valueEnd(text, to + 1)
    if (text[to] !== ']') throw new Error('an attribute does not end')
    at = text[to + 1] === ',' ? to + 2 : to + 1
  }
  return found
}

/** The index of the attributes in a record, and of the value in an attribute. */
const [attributesAt, valueAt] = [6, 2]

/** The offset at which an element of an array begins. */
function elementsBefore(text: string, from: number, element: number): number {
  let at = from + 1
  for (let passed = 0; passed < element; passed += 1) {
    at = valueEnd(text, at)
    if (text[at] !== ',') throw new Error('an array has too few elements')
    at += 1
  }
  return at
}

/** The result of a reader; undefined when it throws, since decoding the whole record reports the damage. */
function attempt<Read>(read: () => Read): Read | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
