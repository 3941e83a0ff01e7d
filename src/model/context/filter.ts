import { type Attribute, compareBytes, type Entity, type Value } from './entity.js'
import { isMarked } from './location.js'
import { CompiledPatterns } from './pattern.js'
import type { StepBudget } from './step-budget.js'
import { expirationOf, isArray, type Seconds, valueAt } from './value.js'

/** A string filter: all its statements must hold [context 7.4.2]. Plain data, so that it can cross to a query thread. */
export interface Filter {
  readonly on: FilterSide
  readonly dialect: Dialect
  readonly statements: readonly Statement[]
}

/** The API of a filter: NGSIv2 has more built-in names, and refuses an order of values without one. */
export type Dialect = 'ngsi1' | 'ngsi2'

export type FilterSide = 'attributes' | 'metadata'

export interface Statement {
  /** The name of the attribute, in a metadata filter that of the metadata, then keys into a compound value. */
  readonly path: readonly string[]
  readonly condition: Condition
}

export type Condition =
  | { readonly kind: 'exists' }
  | { readonly kind: 'absent' }
  /** Equal to one of them; if negated, to none. */
  | { readonly kind: 'equal'; readonly values: readonly Scalar[]; readonly negated: boolean }
  /** Within the range, ends included; if negated, outside. */
  | { readonly kind: 'within'; readonly from: Scalar; readonly to: Scalar; readonly negated: boolean }
  | { readonly kind: 'ordered'; readonly by: Ordering; readonly than: Scalar }
  | { readonly kind: 'matches'; readonly pattern: string }

export type Ordering = '<' | '<=' | '>' | '>='

/** A value to compare with. A date is its number of seconds, as it is stored. */
export type Scalar = string | number | boolean | null

/**
 * Compiles a filter with its regular expressions to a test of entities [context 7.4.2]. An entity that takes more steps than the
 * budget has left does not meet the filter.
 */
export function compileFilter(
  { on, dialect, statements }: Filter,
  budget: StepBudget,
  patterns = new CompiledPatterns(),
): (entity: Entity) => boolean {
  const attributeValues = dialect === 'ngsi1' ? attributeReader : attributeReader2
  const readerOf = on === 'attributes' ? attributeValues : metadataReader
  const tests = statements.map(({ path, condition }) => compileStatement(readerOf(path), condition, budget, patterns))
  return (entity) => tests.every((test) => budget.spend(entity.attributes.length) && test(entity))
}

/**
 * A statement holds when one instance of the attribute meets it. Absence is the opposite of existence: no instance has the path.
 */
function compileStatement(
  read: ScalarReader,
  condition: Condition,
  budget: StepBudget,
  patterns: CompiledPatterns,
): (entity: Entity) => boolean {
  if (condition.kind === 'absent') return (entity) => read(entity).length === 0
  const holds = compileCondition(condition, budget, patterns)
  return (entity) => read(entity).some(holds)
}

type Holds = (value: Value) => boolean

/** An array meets a condition when one of its items does. Kinds are never converted: a number equals no text. */
function compileCondition(
  condition: Exclude<Condition, { kind: 'absent' }>,
  budget: StepBudget,
  patterns: CompiledPatterns,
): Holds {
  const oneOf = (holds: Holds): Holds => {
    return (value) => (isArray(value) ? budget.spend(value.length) && value.some(holds) : holds(value))
  }
  switch (condition.kind) {
    case 'exists':
      return () => true
    case 'equal': {
      const values = new Set<Value>(condition.values)
      return negatedIf(
        condition.negated,
        oneOf((value) => values.has(value)),
      )
    }
    case 'within': {
      const [fromOn, upTo] = [orderedBy('>=', condition.from), orderedBy('<=', condition.to)]
      return negatedIf(
        condition.negated,
        oneOf((value) => fromOn(value) && upTo(value)),
      )
    }
    case 'ordered':
      return oneOf(orderedBy(condition.by, condition.than))
    case 'matches': {
      const pattern = patterns.of(condition.pattern)
      return oneOf((value) => {
        return typeof value === 'string' && budget.spend(pattern.steps(value.length)) && pattern.test(value)
      })
    }
  }
}

function negatedIf(negated: boolean, holds: Holds): Holds {
  return negated ? (value) => !holds(value) : holds
}

const signs: { readonly [By in Ordering]: (order: number) => boolean } = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}

/** Only two texts or two numbers have an order; a boolean or null is neither before nor after anything. */
function orderedBy(by: Ordering, than: Scalar): Holds {
  const sign = signs[by]
  if (typeof than === 'string') return (value) => typeof value === 'string' && sign(compareBytes(value, than))
  if (typeof than === 'number') return (value) => typeof value === 'number' && sign(value - than)
  return () => false
}

/** The values of the left side of a statement: one for each instance that has it. */
type ScalarReader = (entity: Entity) => readonly Value[]

function attributeReader([name = '', ...keys]: readonly string[]): ScalarReader {
  if (name === 'dateCreated') return ({ created }) => reached(seconds(created), keys)
  if (name === 'dateModified') return ({ modified }) => reached(seconds(modified), keys)
  return ({ attributes }) => instancesOf(attributes, name).flatMap(({ value }) => reached(value, keys))
}

/** NGSIv2 has two built-in attributes [NGSIv2 context 6, 10.2]. */
function attributeReader2(path: readonly string[]): ScalarReader {
  const [name, ...keys] = path
  if (name === 'servicePath') return (entity) => reached(entity.path, keys)
  if (name === 'dateExpires') return (entity) => reachedFrom(expirationSeconds(entity), keys)
  return attributeReader(path)
}

function metadataReader([name = '', metadataName = '', ...keys]: readonly string[]): ScalarReader {
  return ({ attributes }) =>
    instancesOf(attributes, name).flatMap((attribute) => {
      return reachedFrom(metadataValue(attribute, metadataName), keys)
    })
}

function instancesOf(attributes: readonly Attribute[], name: string): readonly Attribute[] {
  return attributes.filter((attribute) => attribute.name === name)
}

/** The metadata that reads show, including the built-in dates of the attribute [context 2.3]. */
function metadataValue(attribute: Attribute, name: string): Value | undefined {
  if (name === 'dateCreated') return seconds(attribute.created)
  if (name === 'dateModified') return seconds(attribute.modified)
  if (name === 'ID' && attribute.instance !== '') return attribute.instance
  if (name === 'location' && isMarked(attribute)) return 'WGS84'
  return attribute.metadata.find((element) => element.name === name)?.value
}

function reachedFrom(value: Value | undefined, keys: readonly string[]): readonly Value[] {
  return value === undefined ? [] : reached(value, keys)
}

/** A list of one value or none: flatMap would take an array for several values. */
function reached(value: Value, keys: readonly string[]): readonly Value[] {
  const found = valueAt(value, keys)
  return found === undefined ? [] : [found]
}

function expirationSeconds(entity: Entity): Seconds | undefined {
  const expires = expirationOf(entity)
  return expires === undefined ? undefined : seconds(expires)
}

function seconds(milliseconds: number): Seconds {
  return milliseconds / 1000
}
