import { parseArea } from '../context/area.js'
import type { FilterSide } from '../context/filter.js'
import { parseFilter } from '../context/filter-parse.js'
import type { Scope } from '../context/query.js'
import { granted, type Outcome, refused } from '../outcome.js'
import type { Json } from './json.js'
import type { CheckRefusal } from './payload-refusal.js'
import { leaves, storedValue } from './shape.js'
import { hasForbidden } from './text-rules.js'

type Parsed = Outcome<Scope | undefined, CheckRefusal>

/**
 * Reads a scope. All scopes must hold, so one that is not understood is refused: without it the answer would show too
 * much. One of an unknown type is no scope [context 7.4].
 */
export function parseScope(type: string, value: Json | undefined): Parsed {
  if (type === '') return refused({ kind: 'scopeTypeEmpty' })
  if (value === undefined || value === '') return refused({ kind: 'scopeValueEmpty' })
  const side = filterSides.get(type)
  if (side) return filterScope(type, value, side)
  if (leaves(value).some(hasForbidden)) return refused({ kind: 'scopeCharactersForbidden' })
  const parse = scopes.get(type)
  return parse ? parse(type, value) : granted(undefined)
}

const filterSides: ReadonlyMap<string, FilterSide> = new Map([
  ['FIWARE::StringQuery', 'attributes'],
  ['FIWARE::StringQuery::Metadata', 'metadata'],
])

const scopes: ReadonlyMap<string, (type: string, value: Json) => Parsed> = new Map([
  ['FIWARE::Filter::Existence', (type: string, value: Json) => existence(type, value, { kind: 'typed' })],
  ['FIWARE::Filter::Not::Existence', (type: string, value: Json) => existence(type, value, { kind: 'untyped' })],
  ['FIWARE::Location', areaScope],
  ['FIWARE_Location', areaScope],
])

function existence(type: string, value: Json, scope: Scope): Parsed {
  return value === 'entity::type' ? granted(scope) : refused({ kind: 'scopeValueUnknown', type })
}

function areaScope(_type: string, value: Json): Parsed {
  const area = parseArea(storedValue(value))
  return area.ok ? granted({ kind: 'area', area: area.value }) : refused({ kind: 'areaMalformed', why: area.refusal })
}

function filterScope(type: string, value: Json, side: FilterSide): Parsed {
  if (typeof value !== 'string') return refused({ kind: 'scopeValueUnknown', type })
  const filter = parseFilter(value, side)
  if (!filter.ok) return refused({ kind: 'filterMalformed', why: filter.refusal })
  return granted({ kind: 'filter', filter: filter.value })
}
