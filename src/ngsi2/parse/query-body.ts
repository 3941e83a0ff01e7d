import type { ApiResponse } from '../../api.js'
import { excessiveLength, hasForbiddenInIdentifier } from '../../context/characters.js'
import type { EntityId, EntityType } from '../../context/entity.js'
import { PatternsTogether } from '../../context/patterns-together.js'
import type { Scope, Selector } from '../../context/query.js'
import { parseJson } from '../../json-reader.js'
import { err, ok, type Result } from '../../result.js'
import { type EntityQuery, filterScope, idMeant, patternMistake, placeOfExpression } from '../entity-query.js'
import { badInput } from '../errors.js'
import type { NamesShown } from '../render/entity-text.js'
import { malformedPayload, tooDeep } from './tree.js'

/** The payload of `POST /v2/op/query` [NGSIv2 context 11.2]. */
interface QueryPayload2 {
  readonly query: EntityQuery
  readonly shown: NamesShown
  readonly metadata: NamesShown
}

type Members = Readonly<Record<string, unknown>>

/** More entities and names are asked for in several requests. */
const maxSelectors = 1000
const maxNames = 1000

/** Reads the payload of a query; the response says what is wrong, the first thing in the order of the document. */
export function parseQueryPayload(body: string): Result<QueryPayload2, ApiResponse> {
  const members = parseMembers(body)
  if (!members.ok) return members
  const payload = new QueryDraft()
  const wrong = wrongAtAll(members.value) ?? payload.read(members.value)
  return wrong === undefined ? ok(payload) : err(badInput(wrong))
}

function parseMembers(body: string): Result<Members, ApiResponse> {
  const parsed = parseJson(body)
  if (parsed.ok && isMembers(parsed.value)) return ok(parsed.value)
  return err(!parsed.ok && parsed.error.isTooDeep ? tooDeep : malformedPayload)
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const relevant = ['entities', 'attrs', 'attributes', 'expression']

function wrongAtAll(members: Members): string | undefined {
  if (Object.keys(members).length === 0) return 'empty payload'
  const isRelevant = relevant.some((name) => Object.hasOwn(members, name))
  return isRelevant ? undefined : 'Invalid JSON payload, no relevant fields found'
}

/** A payload while its members are read, each of which may be wrong. */
class QueryDraft implements QueryPayload2 {
  readonly #patterns = new PatternsTogether()
  #selectors: readonly Selector[] = []
  #scopes: readonly Scope[] = []
  #attrs: NamesShown = []
  #attributes: readonly string[] = []
  metadata: NamesShown = []

  get query(): EntityQuery {
    const selectors: readonly Selector[] =
      this.#selectors.length === 0 ? [{ id: { kind: 'any' }, type: undefined }] : this.#selectors
    return { selectors, attributes: this.#attributes, scopes: this.#scopes }
  }

  get shown(): NamesShown {
    return this.#attrs.length === 0 ? this.#attributes : this.#attrs
  }

  /** The text of the first mistake. */
  read(members: Members): string | undefined {
    for (const [name, value] of Object.entries(members)) {
      const wrong = this.#readMember(name, value)
      if (wrong !== undefined) return wrong
    }
    return undefined
  }

  #readMember(name: string, value: unknown): string | undefined {
    switch (name) {
      case 'entities':
        return this.#take(parseSelectors(value, this.#patterns), (selectors) => {
          this.#selectors = selectors
        })
      case 'attrs':
        return this.#take(parseNames(name, value), (names) => {
          this.#attrs = names
        })
      case 'attributes':
        return this.#take(parseNames(name, value), (names) => {
          this.#attributes = names
        })
      case 'metadata':
        return this.#take(parseNames(name, value), (names) => {
          this.metadata = names
        })
      case 'expression':
        return this.#take(parseExpression(value, this.#patterns), (scopes) => {
          this.#scopes = scopes
        })
      default:
        return `Unrecognized field in JSON payload: /${name}/`
    }
  }

  #take<Part>(parsed: Result<Part, string>, keep: (part: Part) => void): string | undefined {
    if (!parsed.ok) return parsed.error
    keep(parsed.value)
    return undefined
  }
}

function parseNames(member: string, value: unknown): Result<readonly string[], string> {
  if (!Array.isArray(value)) return err(`the field /${member}/ must be a JSON array`)
  const names: string[] = []
  for (const name of value) {
    if (typeof name !== 'string') return err(`only JSON Strings allowed in ${member} list`)
    names.push(name)
  }
  return names.length > maxNames ? err(`too many names in ${member} list [max: ${maxNames}]`) : ok(names)
}

/** Which entities are meant; none for all [NGSIv2 context 11.2]. */
function parseSelectors(value: unknown, patterns: PatternsTogether): Result<readonly Selector[], string> {
  if (!Array.isArray(value)) return err('not a JSON array')
  if (value.length > maxSelectors) return err(`too many entities [max: ${maxSelectors}]`)
  const selectors: Selector[] = []
  for (const item of value) {
    const selector = isMembers(item) ? parseSelector(item, patterns) : err('entity is not a JSON object')
    if (!selector.ok) return selector
    selectors.push(selector.value)
  }
  return ok(selectors)
}

const selectorMembers: ReadonlySet<string> = new Set(['id', 'idPattern', 'type', 'typePattern'])

function parseSelector(item: Members, patterns: PatternsTogether): Result<Selector, string> {
  const has = (name: string) => Object.hasOwn(item, name)
  if (!has('id') && !has('idPattern')) return err('nor /id/ nor /idPattern/ present')
  if (has('id') && has('idPattern')) return err('both /id/ and /idPattern/ present')
  if (has('type') && has('typePattern')) return err('type and typePattern cannot be both filled at the same time')
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(item)) {
    if (!selectorMembers.has(name)) return err('no attributes allowed in Entity in this payload')
    if (typeof value !== 'string') return err(`Invalid JSON type for entity ${name}`)
    const wrong = name === 'id' || name === 'type' ? wrongIdentifier(name, value) : wrongPattern(name, value, patterns)
    if (wrong !== undefined) return err(wrong)
    texts[name] = value
  }
  const { id, idPattern = '.*', type, typePattern } = texts
  return ok({
    id: id === undefined ? idMeant(idPattern) : { kind: 'exact', id: id as EntityId },
    type: type as EntityType | undefined,
    ...(typePattern !== undefined && { typePattern }),
  })
}

function wrongIdentifier(name: 'id' | 'type', text: string): string | undefined {
  if (text === '') return `entity ${name} length: 0, min length supported: 1`
  const excess = excessiveLength(text)
  if (excess !== undefined) return `entity ${name} length: ${excess}, max length supported: 256`
  return hasForbiddenInIdentifier(text) ? `Invalid characters in entity ${name}` : undefined
}

function wrongPattern(name: string, text: string, patterns: PatternsTogether): string | undefined {
  const pattern = patterns.check(text)
  return pattern.ok ? undefined : patternMistake(pattern.error, name)
}

/** The conditions of an expression, all of which must hold. */
function parseExpression(value: unknown, patterns: PatternsTogether): Result<readonly Scope[], string> {
  if (!isMembers(value)) return err('expression is not an object')
  const members = Object.entries(value)
  if (members.length === 0) return err('expression is empty')
  const scopes: Scope[] = []
  const placed: Record<string, string> = {}
  for (const [name, text] of members) {
    if (!expressionMembers.has(name)) continue
    if (typeof text !== 'string') return err(`${name} is not a string`)
    if (text === '') return err(`${name} is empty`)
    if (name !== 'q' && name !== 'mq') {
      placed[name] = text
      continue
    }
    const scope = filterScope(text, name === 'q' ? 'attributes' : 'metadata', patterns)
    if (!scope.ok) return scope
    scopes.push(scope.value)
  }
  const place = placeOfExpression(placed)
  if (!place.ok) return place
  return ok(place.value === undefined ? scopes : [...scopes, place.value])
}

const expressionMembers: ReadonlySet<string> = new Set(['q', 'mq', 'georel', 'geometry', 'coords'])
