import { type Err, err, ok, type Result } from '../result.js'
import { hasForbidden } from './characters.js'
import { parseDate } from './date.js'
import type { Condition, Filter, FilterSide, Ordering, Scalar, Statement } from './filter.js'
import { compilePatterns, type PatternMalformed } from './pattern.js'
import { parseDecimal } from './value.js'

/** Why a filter can not be understood; each API has its texts [context 7.4.2]. */
export type FilterMalformed =
  | { readonly kind: 'filterEmpty' }
  | { readonly kind: 'statementEmpty' }
  | { readonly kind: 'leftSideEmpty' }
  | { readonly kind: 'rightSideEmpty' }
  | { readonly kind: 'listItemEmpty' }
  | { readonly kind: 'rangeItemEmpty' }
  /** A range with another operator than `==` and `!=`. */
  | { readonly kind: 'rangeOrdered' }
  /** A list with another operator than `==` and `!=`. */
  | { readonly kind: 'listOrdered' }
  /** The ends of a range are not two of one kind that has an order. */
  | { readonly kind: 'rangeMixed' }
  /** The items of a list are not values of one kind. */
  | { readonly kind: 'listMixed' }
  | { readonly kind: 'quoteOpen' }
  | { readonly kind: 'charactersForbidden' }
  | PatternMalformed
  /** A metadata filter names an attribute alone. */
  | { readonly kind: 'metadataUnnamed' }
  | { readonly kind: 'statementsTooMany' }
  | { readonly kind: 'filterTooLong' }

/** More than any client needs: what a filter costs for every entity grows with them. */
const maxStatements = 1000

/** Reading a filter takes time with its length, in the thread that answers requests. */
const maxCharacters = 65_536

/**
 * Reads a string filter, of which one `;` at the end is ignored [context 7.4.2]. Spaces around its parts have no
 * meaning. Between single quotation marks the separators and operators are ordinary characters, but as names and values
 * can not have them, none of the forbidden characters is let in there either [context 4.1].
 */
export function parseFilter(text: string, on: FilterSide): Result<Filter, FilterMalformed> {
  if (text.length > maxCharacters) return malformed('filterTooLong')
  const parts = cut(text, ';')
  if (parts.length > 1 && parts.at(-1)?.trim() === '') parts.pop()
  if (parts.length === 1 && parts[0]?.trim() === '') return malformed('filterEmpty')
  if (parts.length > maxStatements) return malformed('statementsTooMany')
  const statements: Statement[] = []
  for (const part of parts) {
    const statement = parseStatement(part.trim(), on)
    if (!statement.ok) return statement
    statements.push(statement.value)
  }
  const patterns = compilePatterns(statements.flatMap(({ condition }) => patternsOf(condition)))
  return patterns.ok ? ok({ on, statements }) : patterns
}

function patternsOf(condition: Condition): readonly string[] {
  return condition.kind === 'matches' ? [condition.pattern] : []
}

type ParsedStatement<Part> = Result<Part, FilterMalformed>

function malformed<Kind extends Exclude<FilterMalformed['kind'], 'patternMalformed'>>(
  kind: Kind,
): Err<{ readonly kind: Kind }> {
  return err({ kind })
}

function parseStatement(text: string, on: FilterSide): ParsedStatement<Statement> {
  if (text === '') return malformed('statementEmpty')
  const found = findOperator(text)
  if (found === undefined) return parseUnary(text, on)
  const left = text.slice(0, found.at).trim()
  const right = text.slice(found.at + found.operator.length).trim()
  if (left === '') return malformed('leftSideEmpty')
  if (right === '') return malformed('rightSideEmpty')
  const path = parsePath(left, on)
  if (!path.ok) return path
  const condition = parseCondition(found.operator, right)
  return condition.ok ? ok({ path: path.value, condition: condition.value }) : condition
}

function parseUnary(text: string, on: FilterSide): ParsedStatement<Statement> {
  const negated = text.startsWith('!')
  const left = negated ? text.slice(1).trim() : text
  if (left === '') return malformed('rightSideEmpty')
  const path = parsePath(left, on)
  return path.ok ? ok({ path: path.value, condition: { kind: negated ? 'absent' : 'exists' } }) : path
}

/** Longer ones first: `>=` is not `>`. */
const operators = ['==', '!=', '>=', '<=', '~=', '>', '<', ':'] as const
type Operator = (typeof operators)[number]

/** The first operator outside quotes. What looks like another one after it is part of the value. */
function findOperator(text: string): { readonly operator: Operator; readonly at: number } | undefined {
  let quoted = false
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "'") quoted = !quoted
    const operator = quoted ? undefined : operators.find((sign) => text.startsWith(sign, at))
    if (operator !== undefined) return { operator, at }
  }
  return undefined
}

function parsePath(text: string, on: FilterSide): ParsedStatement<readonly string[]> {
  const path: string[] = []
  for (const part of cut(text, '.')) {
    const step = unquoted(part.trim())
    if (!step.ok) return step
    if (part.trim() === '') return malformed('leftSideEmpty')
    path.push(step.value)
  }
  if (path[0] === '') return malformed('leftSideEmpty')
  return on === 'metadata' && path.length < 2 ? malformed('metadataUnnamed') : ok(path)
}

function parseCondition(operator: Operator, text: string): ParsedStatement<Condition> {
  switch (operator) {
    case '~=':
      return parseMatch(text)
    case '==':
    case ':':
      return parseEquality(text, false)
    case '!=':
      return parseEquality(text, true)
    default:
      return parseOrdering(operator, text)
  }
}

function parseMatch(text: string): ParsedStatement<Condition> {
  const pattern = unquoted(text)
  return pattern.ok ? ok({ kind: 'matches', pattern: pattern.value }) : pattern
}

function parseOrdering(by: Ordering, text: string): ParsedStatement<Condition> {
  if (cut(text, ',').length > 1) return malformed('listOrdered')
  if (cut(text, '..').length > 1) return malformed('rangeOrdered')
  const than = parseLiteral(text)
  return than.ok ? ok({ kind: 'ordered', by, than: than.value.value }) : than
}

function parseEquality(text: string, negated: boolean): ParsedStatement<Condition> {
  const items = cut(text, ',')
  if (items.length > 1) return parseList(items, negated)
  const ends = cut(text, '..')
  if (ends.length > 1) return parseRange(ends, negated)
  const value = parseLiteral(text)
  return value.ok ? ok({ kind: 'equal', values: [value.value.value], negated }) : value
}

function parseList(items: readonly string[], negated: boolean): ParsedStatement<Condition> {
  const literals = parseLiterals(items, 'listItemEmpty')
  if (!literals.ok) return literals
  const ranged = items.some((item) => cut(item, '..').length > 1)
  if (ranged || !ofOneKind(literals.value)) return malformed('listMixed')
  return ok({ kind: 'equal', values: literals.value.map(({ value }) => value), negated })
}

function parseRange(ends: readonly string[], negated: boolean): ParsedStatement<Condition> {
  const literals = parseLiterals(ends, 'rangeItemEmpty')
  if (!literals.ok) return literals
  const [from, to, ...more] = literals.value
  if (from === undefined || to === undefined || more.length > 0) return malformed('rangeMixed')
  if (from.kind !== to.kind || from.kind === 'boolean' || from.kind === 'null') return malformed('rangeMixed')
  return ok({ kind: 'within', from: from.value, to: to.value, negated })
}

/** A value as it is written: dates and numbers are told apart here, though both are stored as numbers. */
interface Literal {
  readonly kind: 'text' | 'number' | 'date' | 'boolean' | 'null'
  readonly value: Scalar
}

function parseLiterals(
  texts: readonly string[],
  whenEmpty: 'listItemEmpty' | 'rangeItemEmpty',
): ParsedStatement<readonly Literal[]> {
  const literals: Literal[] = []
  for (const text of texts) {
    if (text.trim() === '') return malformed(whenEmpty)
    const literal = parseLiteral(text.trim())
    if (!literal.ok) return literal
    literals.push(literal.value)
  }
  return ok(literals)
}

function ofOneKind(literals: readonly Literal[]): boolean {
  return literals.every(({ kind }) => kind === literals[0]?.kind)
}

/** Quoted a text; else a number, a date, `true`, `false` or `null` if it is one; else a text. */
function parseLiteral(text: string): ParsedStatement<Literal> {
  const content = unquoted(text)
  if (!content.ok) return content
  if (text.startsWith("'")) return ok({ kind: 'text', value: content.value })
  const number = parseDecimal(text)
  if (number !== undefined) return ok({ kind: 'number', value: number })
  const date = parseDate(text)
  if (date !== undefined) return ok({ kind: 'date', value: date })
  if (text === 'true' || text === 'false') return ok({ kind: 'boolean', value: text === 'true' })
  return ok(text === 'null' ? { kind: 'null', value: null } : { kind: 'text', value: text })
}

/** A name, value or pattern without the quotation marks around it, if it has them. */
function unquoted(text: string): ParsedStatement<string> {
  const end = text.startsWith("'") ? text.indexOf("'", 1) : undefined
  if (end === -1) return malformed('quoteOpen')
  const content = end === text.length - 1 ? text.slice(1, end) : text
  return hasForbidden(content) ? malformed('charactersForbidden') : ok(content)
}

/** The parts of a text between the separators that stand outside quotes. */
function cut(text: string, separator: string): string[] {
  const parts: string[] = []
  let quoted = false
  let from = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "'") quoted = !quoted
    if (quoted || !text.startsWith(separator, at)) continue
    parts.push(text.slice(from, at))
    from = at + separator.length
    at = from - 1
  }
  parts.push(text.slice(from))
  return parts
}
