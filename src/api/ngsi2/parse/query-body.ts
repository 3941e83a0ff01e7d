import type { ApiResponse } from '../../../broker/operations/api.js'
import { parseJson } from '../../../json-reader.js'
import type { EntityId, EntityType } from '../../../model/context/entity.js'
import { PatternsTogether } from '../../../model/context/pattern.js'
import { idMeant, type Scope, type Selector } from '../../../model/context/query.js'
import { err, type Result } from '../../../result.js'
import { type EntityQuery, filterScope, patternMistake, placeOfExpression } from '../entity-query.js'
import { badInput } from '../errors.js'
import type { NamesShown } from '../render/entity-text.js'
import {
  accepted,
  checked,
  type Given,
  type GivenObject,
  identifierMistake,
  isGivenObject,
  malformedPayload,
  refuse,
  tooDeep,
} from './tree.js'

/** The payload of `POST /v2/op/query` [NGSIv2 context 11.2]. */
interface QueryPayload {
  readonly query: EntityQuery
  readonly shown: NamesShown
  readonly metadata: NamesShown
}

/** Clients that need more entities or names send several requests. */
const maxSelectors = 1000
const maxNames = 1000

/** Reads the payload of a query. The response names the first mistake in the order of the document. */
export function parseQueryPayload(body: string): Result<QueryPayload, ApiResponse> {
  const parsed = parseJson(body)
  if (!parsed.ok) return err(parsed.error.isTooDeep ? tooDeep : malformedPayload)
  const { value } = parsed
  if (!isGivenObject(value)) return err(malformedPayload)
  const payload = checked(() => readQuery(value))
  return payload.ok ? payload : err(badInput(payload.error.description))
}

const relevant = ['entities', 'attrs', 'attributes', 'expression']

const any: Selector = { id: { kind: 'any' }, type: undefined }

function readQuery(given: GivenObject): QueryPayload {
  if (Object.keys(given).length === 0) refuse('empty payload')
  if (!relevant.some((name) => Object.hasOwn(given, name))) refuse('Invalid JSON payload, no relevant fields found')
  const patterns = new PatternsTogether()
  let selectors: readonly Selector[] = []
  let scopes: readonly Scope[] = []
  let attrs: NamesShown = []
  let attributes: readonly string[] = []
  let metadata: NamesShown = []
  for (const [name, value] of Object.entries(given)) {
    switch (name) {
      case 'entities':
        selectors = readEntities(value, patterns)
        break
      case 'attrs':
        attrs = readNames(name, value)
        break
      case 'attributes':
        attributes = readNames(name, value)
        break
      case 'metadata':
        metadata = readNames(name, value)
        break
      case 'expression':
        scopes = readConditions(value, patterns)
        break
      default:
        refuse(`Unrecognized field in JSON payload: /${name}/`)
    }
  }
  return {
    query: { selectors: selectors.length === 0 ? [any] : selectors, attributes, scopes },
    shown: attrs.length === 0 ? attributes : attrs,
    metadata,
  }
}

function readNames(member: string, given: Given): readonly string[] {
  if (!Array.isArray(given)) refuse(`the field /${member}/ must be a JSON array`)
  for (const name of given) if (typeof name !== 'string') refuse(`only JSON Strings allowed in ${member} list`)
  if (given.length > maxNames) refuse(`too many names in ${member} list [max: ${maxNames}]`)
  return given
}

function readEntities(given: Given, patterns: PatternsTogether): readonly Selector[] {
  if (!Array.isArray(given)) refuse('not a JSON array')
  if (given.length > maxSelectors) refuse(`too many entities [max: ${maxSelectors}]`)
  return given.map((item: Given) =>
    isGivenObject(item) ? readEntity(item, patterns) : refuse('entity is not a JSON object'),
  )
}

const selectorMembers: ReadonlySet<string> = new Set(['id', 'idPattern', 'type', 'typePattern'])

function readEntity(given: GivenObject, patterns: PatternsTogether): Selector {
  const has = (name: string) => Object.hasOwn(given, name)
  if (!has('id') && !has('idPattern')) refuse('nor /id/ nor /idPattern/ present')
  if (has('id') && has('idPattern')) refuse('both /id/ and /idPattern/ present')
  if (has('type') && has('typePattern')) refuse('type and typePattern cannot be both filled at the same time')
  const texts: Record<string, string> = {}
  for (const [name, text] of Object.entries(given)) {
    if (!selectorMembers.has(name)) refuse('no attributes allowed in Entity in this payload')
    if (typeof text !== 'string') refuse(`Invalid JSON type for entity ${name}`)
    if (name === 'id' || name === 'type') checkIdentifier(name, text)
    else checkPattern(name, text, patterns)
    texts[name] = text
  }
  const { id, idPattern = '.*', type, typePattern } = texts
  return {
    id: id === undefined ? idMeant(idPattern) : { kind: 'exact', id: id as EntityId },
    type: type as EntityType | undefined,
    ...(typePattern !== undefined && { typePattern }),
  }
}

function checkIdentifier(name: 'id' | 'type', text: string): void {
  const mistake = identifierMistake(`entity ${name}`, text)
  if (mistake !== undefined) refuse(mistake)
}

function checkPattern(name: string, text: string, patterns: PatternsTogether): void {
  const pattern = patterns.check(text)
  if (!pattern.ok) refuse(patternMistake(pattern.error, name))
}

/** The conditions of an expression, all of which must hold. */
function readConditions(given: Given, patterns: PatternsTogether): readonly Scope[] {
  if (!isGivenObject(given)) refuse('expression is not an object')
  const members = Object.entries(given)
  if (members.length === 0) refuse('expression is empty')
  const scopes: Scope[] = []
  const placed: Record<string, string> = {}
  for (const [name, text] of members) {
    if (!expressionMembers.has(name)) continue
    if (typeof text !== 'string') refuse(`${name} is not a string`)
    if (text === '') refuse(`${name} is empty`)
    if (name === 'q') scopes.push(accepted(filterScope(text, 'attributes', patterns)))
    else if (name === 'mq') scopes.push(accepted(filterScope(text, 'metadata', patterns)))
    else placed[name] = text
  }
  const place = accepted(placeOfExpression(placed))
  return place === undefined ? scopes : [...scopes, place]
}

const expressionMembers: ReadonlySet<string> = new Set(['q', 'mq', 'georel', 'geometry', 'coords'])
