import { type Err, err, ok, type Result } from '../../result.js'
import { hasForbidden } from './entity.js'
import type { Condition, Dialect, Filter, FilterSide, Ordering, Scalar, Statement } from './filter.js'
import { type PatternRefusal, PatternsTogether } from './pattern.js'
import { parseDate, parseDecimal } from './value.js'

/** Why a filter is malformed; each API has its texts [context 7.4.2]. */
export type FilterMalformed =
  | { readonly kind: 'filterEmpty' }
  | { readonly kind: 'statementEmpty' }
  /** A statement of spaces only. */
  | { readonly kind: 'statementBlank' }
  /** The only statement consists of spaces. */
  | { readonly kind: 'filterBlank' }
  | { readonly kind: 'leftSideEmpty' }
  | { readonly kind: 'rightSideEmpty' }
  | { readonly kind: 'listItemEmpty' }
  | { readonly kind: 'rangeItemEmpty' }
  /** A range with an operator other than `==` and `!=`. */
  | { readonly kind: 'rangeOrdered' }
  /** A list with an operator other than `==` and `!=`. */
  | { readonly kind: 'listOrdered' }
  /** The ends of a range have different kinds. */
  | { readonly kind: 'rangeMixed' }
  /** An end of a range is a boolean or null, which have no order. */
  | { readonly kind: 'rangeUnordered'; readonly end: 'from' | 'to' }
  /** The items of a list have different kinds. */
  | { readonly kind: 'listMixed' }
  /** A boolean or null is compared by order; only NGSIv2 refuses that. */
  | { readonly kind: 'valueUnordered'; readonly by: Ordering; readonly value: boolean | null }
  | { readonly kind: 'quoteOpen' }
  /** A quotation mark within a quoted text. */
  | { readonly kind: 'quoteInside' }
  /** A quotation mark within a name or key; only NGSIv2 treats it differently from other characters. */
  | { readonly kind: 'quoteInName' }
  | { readonly kind: 'charactersForbidden'; readonly in: 'path' | 'value' }
  | PatternRefusal
  /** A metadata filter without a metadata name. */
  | { readonly kind: 'metadataUnnamed'; readonly unary: boolean }
  /** The name of the metadata is empty. */
  | { readonly kind: 'metadataNameEmpty'; readonly unary: boolean }
  /** A metadata filter without an attribute name. */
  | { readonly kind: 'attributeUnnamed' }
  | { readonly kind: 'statementsTooMany' }
  | { readonly kind: 'filterTooLong' }

/** More than any client needs: the cost of a filter for every entity grows with its statements. */
const maxStatements = 1000

/** The thread that answers requests parses filters, in time proportional to their length. */
const maxCharacters = 65_536

/**
 * Parses a string filter; a single `;` at its end is ignored [context 7.4.2], [NGSIv2 context 10.2, 10.3]. Spaces around its
 * parts have no meaning. Between single quotation marks separators and operators are ordinary characters, but the forbidden
 * characters are refused there too, since names and values cannot have them [context 4.1]. Patterns are checked with the others
 * of the request.
 */
export function parseFilter(
  text: string,
  on: FilterSide,
  dialect: Dialect,
  patterns = new PatternsTogether(),
): Result<Filter, FilterMalformed> {
  if (text.length > maxCharacters) return malformed('filterTooLong')
  const parts = cut(text, ';')
  if (parts.length > 1 && parts.at(-1)?.trim() === '') parts.pop()
  if (parts.length === 1 && parts[0]?.trim() === '') return malformed(parts[0] === '' ? 'filterEmpty' : 'filterBlank')
  if (parts.length > maxStatements) return malformed('statementsTooMany')
  const statements: Statement[] = []
  for (const part of parts) {
    if (part.trim() === '') return malformed(part === '' ? 'statementEmpty' : 'statementBlank')
    const statement = parseStatement(part.trim(), on, dialect)
    if (!statement.ok) return statement
    statements.push(statement.value)
  }
  const checked = patterns.checkAll(statements.flatMap(({ condition }) => patternsOf(condition)))
  return checked.ok ? ok({ on, dialect, statements }) : checked
}

function patternsOf(condition: Condition): readonly string[] {
  return condition.kind === 'matches' ? [condition.pattern] : []
}

type ParsedStatement<Part> = Result<Part, FilterMalformed>

/** The kinds of refusals without further members. */
type BareKind<Each> = Each extends { readonly kind: infer Kind }
  ? Exclude<keyof Each, 'kind'> extends never
    ? Kind
    : never
  : never

function malformed<Kind extends BareKind<FilterMalformed>>(kind: Kind): Err<{ readonly kind: Kind }> {
  return err({ kind })
}

function parseStatement(text: string, on: FilterSide, dialect: Dialect): ParsedStatement<Statement> {
  const found = findOperator(text)
  if (found === undefined) return parseUnary(text, on, dialect)
  const left = text.slice(0, found.at).trim()
  const right = text.slice(found.at + found.operator.length).trim()
  if (left === '') return malformed('leftSideEmpty')
  if (right === '') return malformed('rightSideEmpty')
  const path = parsePath(left, on, false, dialect)
  if (!path.ok) return path
  const condition = parseCondition(found.operator, right, dialect)
  return condition.ok ? ok({ path: path.value, condition: condition.value }) : condition
}

function parseUnary(text: string, on: FilterSide, dialect: Dialect): ParsedStatement<Statement> {
  const negated = text.startsWith('!')
  const left = negated ? text.slice(1).trim() : text
  if (left === '') return malformed('rightSideEmpty')
  const path = parsePath(left, on, true, dialect)
  return path.ok ? ok({ path: path.value, condition: { kind: negated ? 'absent' : 'exists' } }) : path
}

/** Longer ones first: `>=` is not `>`. */
const operators = ['==', '!=', '>=', '<=', '~=', '>', '<', ':'] as const
type Operator = (typeof operators)[number]

/** The first operator outside quotes. Later ones belong to the value. */
function findOperator(text: string): { readonly operator: Operator; readonly at: number } | undefined {
  let quoted = false
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "'") quoted = !quoted
    const operator = quoted ? undefined : operators.find((sign) => text.startsWith(sign, at))
    if (operator !== undefined) return { operator, at }
  }
  return undefined
}

function parsePath(text: string, on: FilterSide, unary: boolean, dialect: Dialect): ParsedStatement<readonly string[]> {
  const path: string[] = []
  if (dialect === 'ngsi2') {
    if (hasForbidden(text.replaceAll("'", ''))) return err({ kind: 'charactersForbidden', in: 'path' })
    if (quoteInName.test(text)) return malformed('quoteInName')
  }
  for (const part of cut(text, '.')) {
    const step = unquoted(part.trim(), 'path')
    if (!step.ok) return step
    if (part.trim() === '') return emptyStep(path, on, unary)
    path.push(step.value)
  }
  if (path[0] === '') return emptyStep([], on, unary)
  return on === 'metadata' && path.length < 2 ? err({ kind: 'metadataUnnamed', unary }) : ok(path)
}

/** A quotation mark that stands neither at an end of the path nor beside a dot. */
const quoteInName = /[^.\s]\s*'\s*[^.\s]/

/** The refusal of an empty step behind these steps. */
function emptyStep(before: readonly string[], on: FilterSide, unary: boolean): Err<FilterMalformed> {
  if (on === 'attributes' || before.length > 1) return malformed('leftSideEmpty')
  return before.length === 0 ? malformed('attributeUnnamed') : err({ kind: 'metadataNameEmpty', unary })
}

function parseCondition(operator: Operator, text: string, dialect: Dialect): ParsedStatement<Condition> {
  switch (operator) {
    case '~=':
      return parseMatch(text, dialect)
    case '==':
    case ':':
      return parseEquality(text, false, dialect)
    case '!=':
      return parseEquality(text, true, dialect)
    default:
      return parseOrdering(operator, text, dialect)
  }
}

function parseMatch(text: string, dialect: Dialect): ParsedStatement<Condition> {
  if (dialect === 'ngsi2' && text.includes("'")) return err({ kind: 'charactersForbidden', in: 'value' })
  const pattern = unquoted(text, 'value')
  return pattern.ok ? ok({ kind: 'matches', pattern: pattern.value }) : pattern
}

function parseOrdering(by: Ordering, text: string, dialect: Dialect): ParsedStatement<Condition> {
  if (cut(text, ',').length > 1) return malformed('listOrdered')
  if (cut(text, '..').length > 1) return malformed('rangeOrdered')
  const literal = parseLiteral(text, dialect)
  if (!literal.ok) return literal
  const than = literal.value.value
  const isUnordered = typeof than === 'boolean' || than === null
  if (isUnordered && dialect === 'ngsi2') return err({ kind: 'valueUnordered', by, value: than })
  return ok({ kind: 'ordered', by, than })
}

function parseEquality(text: string, negated: boolean, dialect: Dialect): ParsedStatement<Condition> {
  const items = cut(text, ',')
  if (items.length > 1) return parseList(items, negated, dialect)
  const ends = cut(text, '..')
  if (ends.length > 1) return parseRange(ends, negated, dialect)
  const value = parseLiteral(text, dialect)
  return value.ok ? ok({ kind: 'equal', values: [value.value.value], negated }) : value
}

function parseList(items: readonly string[], negated: boolean, dialect: Dialect): ParsedStatement<Condition> {
  const literals = parseLiterals(items, 'listItemEmpty', dialect)
  if (!literals.ok) return literals
  const ranged = items.some((item) => cut(item, '..').length > 1)
  if (ranged || !isList[dialect](literals.value)) return malformed('listMixed')
  return ok({ kind: 'equal', values: literals.value.map(({ value }) => value), negated })
}

function parseRange(ends: readonly string[], negated: boolean, dialect: Dialect): ParsedStatement<Condition> {
  const literals = parseLiterals(ends, 'rangeItemEmpty', dialect)
  if (!literals.ok) return literals
  const [from, to, ...more] = literals.value
  if (from === undefined || to === undefined || more.length > 0) return malformed('rangeMixed')
  if (isUnordered(from)) return err({ kind: 'rangeUnordered', end: 'from' })
  if (isUnordered(to)) return err({ kind: 'rangeUnordered', end: 'to' })
  if (from.kind !== to.kind) return malformed('rangeMixed')
  return ok({ kind: 'within', from: from.value, to: to.value, negated })
}

/** A value as written: dates and numbers differ here, though both are stored as numbers. */
interface Literal {
  readonly kind: 'text' | 'number' | 'date' | 'boolean' | 'null'
  readonly value: Scalar
}

function parseLiterals(
  texts: readonly string[],
  whenEmpty: 'listItemEmpty' | 'rangeItemEmpty',
  dialect: Dialect,
): ParsedStatement<readonly Literal[]> {
  const literals: Literal[] = []
  for (const text of texts) {
    if (text.trim() === '') return malformed(whenEmpty)
    const literal = parseLiteral(text.trim(), dialect)
    if (!literal.ok) return literal
    literals.push(literal.value)
  }
  return ok(literals)
}

function isUnordered({ kind }: Literal): boolean {
  return kind === 'boolean' || kind === 'null'
}

/** Whether literals may form a list: in NGSIv2 a list has no booleans, and null only among texts. */
const isList: { readonly [By in Dialect]: (literals: readonly Literal[]) => boolean } = {
  ngsi1: ofOneKind,
  ngsi2: (literals) => {
    const valued = literals.filter(({ kind }) => kind !== 'null')
    const [first] = valued
    if (first === undefined || first.kind === 'boolean' || !ofOneKind(valued)) return false
    return valued.length === literals.length || first.kind === 'text'
  },
}

function ofOneKind(literals: readonly Literal[]): boolean {
  return literals.every(({ kind }) => kind === literals[0]?.kind)
}

/** A quoted value is a text. Any other is a number, date, `true`, `false` or `null` if it reads as one, otherwise a text. */
function parseLiteral(text: string, dialect: Dialect): ParsedStatement<Literal> {
  // In NGSIv2 characters behind the second quotation mark leave a text open, unless another mark ends it [NGSIv2 context 10.2].
  if (dialect === 'ngsi2' && text.startsWith("'") && !text.endsWith("'")) return malformed('quoteOpen')
  const content = unquoted(text, 'value')
  if (!content.ok) return content
  if (text.startsWith("'")) return ok({ kind: 'text', value: content.value })
  const number = parseDecimal(text)
  if (number !== undefined) return ok({ kind: 'number', value: number })
  const date = parseDate(text)
  if (date !== undefined) return ok({ kind: 'date', value: date })
  if (text === 'true' || text === 'false') return ok({ kind: 'boolean', value: text === 'true' })
  return ok(text === 'null' ? { kind: 'null', value: null } : { kind: 'text', value: text })
}

/** A name, value or pattern without surrounding quotation marks. */
function unquoted(text: string, side: 'path' | 'value'): ParsedStatement<string> {
  const end = text.startsWith("'") ? text.indexOf("'", 1) : undefined
  if (end === -1) return malformed('quoteOpen')
  if (end !== undefined && end < text.length - 1) return malformed('quoteInside')
  const content = end === undefined ? text : text.slice(1, end)
  return hasForbidden(content) ? err({ kind: 'charactersForbidden', in: side }) : ok(content)
}

/** The parts of a text between separators outside quotes. */
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
