import { compareBytes, type EntityType } from '../../model/context/entity.js'
import { type Steps, sortedInSteps } from '../../slices.js'
import type { AttributeType, Count } from '../../storage/store/partition-reader.js'
import type { TypeSummary } from './broker.js'

/** Memory of a type and the name of one of its attributes beside their characters. */
const entry_bytes = 100

/** A type: how many entities it has, and the types of each attribute by its name, as far as they were added. */
interface TypeSum {
  readonly type: EntityType
  entities: number
  readonly names: Map<string, Set<string> | undefined>
}

/** Adds up the counts of several paths and partitions [context 9]. */
export class TypeSums {
  readonly #types = new Map<EntityType, TypeSum>()
  #bytes = 0

  /** The approximate memory of types and names. */
  get bytes(): number {
    return this.#bytes
  }

  add({ type, attribute, count }: Count): void {
    const sum = this.#types.get(type) ?? this.#begin(type)
    if (attribute === undefined) sum.entities += count
    else if (!sum.names.has(attribute)) this.#name(sum, attribute, undefined)
  }

  /** Adds a type of an attribute. */
  addType({ type, attribute, attributeType }: Omit<AttributeType, 'path'>): void {
    const sum = this.#types.get(type) ?? this.#begin(type)
    const types = sum.names.get(attribute) ?? this.#name(sum, attribute, new Set<string>())
    if (types.has(attributeType)) return
    types.add(attributeType)
    this.#bytes += entry_bytes + attributeType.length
  }

  /**
   * Types ascending, the empty one last; names, and on request their types, ascending. They are texts for another thread: objects would be
   * cloned in one piece, however many there are.
   */
  *texts(isDetailed = false): Steps<readonly string[]> {
    const texts = new SummaryTexts()
    for (const { type, entities, names } of yield* sortedInSteps([...this.#types.values()], untypedLast)) {
      let part = texts.begin(type, entities, isDetailed)
      for (const name of yield* sortedInSteps([...names.keys()], compareBytes)) {
        if (texts.isFull) {
          texts.end()
          yield
          part = texts.begin(type, entities, isDetailed)
        }
        const types = names.get(name)
        texts.add(part, name, types === undefined ? none : yield* sortedInSteps([...types], compareBytes))
      }
      if (!texts.isFull) continue
      texts.end()
      yield
    }
    return texts.end()
  }

  #name<Types extends Set<string> | undefined>({ names }: TypeSum, attribute: string, types: Types): Types {
    if (!names.has(attribute)) this.#bytes += entry_bytes + attribute.length
    names.set(attribute, types)
    return types
  }

  #begin(type: EntityType): TypeSum {
    const sum: TypeSum = { type, entities: 0, names: new Map() }
    this.#types.set(type, sum)
    this.#bytes += entry_bytes + type.length
    return sum
  }
}

const none: readonly string[] = []

function untypedLast(a: TypeSum, b: TypeSum): number {
  return Number(a.type === '') - Number(b.type === '') || compareBytes(a.type, b.type)
}

/** The summaries of these texts. */
export function* summariesIn(texts: readonly string[]): Steps<readonly TypeSummary[]> {
  const summaries: SummaryPart[] = []
  for (const text of texts) {
    for (const part of JSON.parse(text) as readonly SummaryPart[]) {
      const last = summaries.at(-1)
      if (last?.type !== part.type) summaries.push(part)
      else {
        last.attributes.push(...part.attributes)
        last.attributeTypes?.push(...(part.attributeTypes ?? []))
      }
    }
    yield
  }
  return summaries
}

/** A type with some of its attributes: those of one type may stand in several texts, one after the other. */
interface SummaryPart extends TypeSummary {
  readonly attributes: string[]
  readonly attributeTypes?: (readonly string[])[]
}

/** The types and names of one text, about: as many are written, or read, in a millisecond. */
const namesOfText = 2048

/** Writes summaries as texts of some types and names each. */
class SummaryTexts {
  readonly #texts: string[] = []
  #parts: SummaryPart[] = []
  #names = 0

  /** Whether the text is to be ended before anything else is added. */
  get isFull(): boolean {
    return this.#names >= namesOfText
  }

  begin(type: EntityType, entities: number, isDetailed: boolean): SummaryPart {
    const part = { type, entities, attributes: [], ...(isDetailed && { attributeTypes: [] }) }
    this.#parts.push(part)
    this.#names += 1
    return part
  }

  add({ attributes, attributeTypes }: SummaryPart, name: string, types: readonly string[]): void {
    attributes.push(name)
    attributeTypes?.push(types)
    this.#names += 1 + types.length
  }

  /** Ends the text; returns all that there are. */
  end(): readonly string[] {
    if (this.#parts.length > 0) this.#texts.push(JSON.stringify(this.#parts))
    this.#parts = []
    this.#names = 0
    return this.#texts
  }
}
