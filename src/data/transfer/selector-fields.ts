import { type Given, refuse } from '../../api/ngsi2/parse/tree.js'
import type { EntityId, EntityType } from '../../model/context/entity.js'
import { PatternsTogether } from '../../model/context/pattern.js'
import type { Selector } from '../../model/context/query.js'
import { LineFields, storedName } from './line-fields.js'

const names = new Set(['id', 'idPattern', 'type', 'typePattern'])

/** A selector in a line: without an id and a pattern any id is meant. */
export function selectorMembers({ id, type, typePattern }: Selector): object {
  return {
    id: id.kind === 'exact' ? id.id : undefined,
    idPattern: id.kind === 'pattern' ? id.pattern : undefined,
    type,
    typePattern,
  }
}

/** Reads the selectors of a subscription. Only within `checked`. */
export function readLineSelectors(fields: LineFields): readonly Selector[] {
  const patterns = new PatternsTogether()
  return fields.list('entities', (given, where) => readLineSelector(given, where, patterns))
}

function readLineSelector(given: Given, where: string, patterns: PatternsTogether): Selector {
  const fields = new LineFields(given, where).only(names)
  const type = fields.optionalText('type')
  const typePattern = fields.optionalText('typePattern')
  return {
    id: readId(fields, patterns),
    type: type === undefined ? undefined : (storedName(type, fields.named('type')) as EntityType),
    ...(typePattern !== undefined && { typePattern: accepted(typePattern, fields.named('typePattern'), patterns) }),
  }
}

function readId(fields: LineFields, patterns: PatternsTogether): Selector['id'] {
  const [id, pattern] = [fields.optionalText('id'), fields.optionalText('idPattern')]
  if (id !== undefined && pattern !== undefined) refuse(`${fields.named('id')} and idPattern are both there`)
  if (id !== undefined) return { kind: 'exact', id: storedName(id, fields.named('id')) as EntityId }
  if (pattern === undefined) return { kind: 'any' }
  return { kind: 'pattern', pattern: accepted(pattern, fields.named('idPattern'), patterns) }
}

function accepted(pattern: string, what: string, patterns: PatternsTogether): string {
  if (!patterns.check(pattern).ok) refuse(`${what} is no regular expression, or too large: ${pattern}`)
  return pattern
}
