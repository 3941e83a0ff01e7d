import type { ApiResponse } from '../../api.js'
import { hasForbidden } from '../../context/characters.js'
import type { GivenAttribute } from '../../context/update.js'
import { parseDecimal } from '../../context/value.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { badInput } from '../ngsi2-errors.js'
import { readAttribute } from './given-attributes.js'
import { type GivenValue, readValue, wrongOperation } from './given-value.js'
import { wrongIdentifier } from './identifiers.js'
import { readObject, readPayload } from './payload-tree.js'

/** Reads the payload of PUT of the attribute that the path names [NGSIv2 context 9.2]. */
export function* parseOneAttribute(body: string, name: string): Steps<Result<GivenAttribute, ApiResponse>> {
  const wrong = wrongIdentifier('attribute name', name)
  if (wrong) return err(wrong)
  const tree = yield* readObject(body)
  return tree.ok ? yield* readAttribute(name, tree.value) : tree
}

/** Reads the payload of PUT of a value, as JSON or as plain text [NGSIv2 context 9.3]. */
export function* parseValueBody(body: string, isText: boolean): Steps<Result<GivenValue, ApiResponse>> {
  if (isText) return parseText(body)
  const tree = yield* readPayload(body)
  if (!tree.ok) return tree
  if (typeof tree.value !== 'object' || tree.value === null) {
    return err(badInput('Neither JSON Object nor JSON Array for attribute::value'))
  }
  const wrong = wrongOperation(tree.value)
  return wrong ? err(wrong) : yield* readValue(tree.value)
}

function parseText(body: string): Result<GivenValue, ApiResponse> {
  if (body.startsWith('"')) {
    if (body.length === 1 || !body.endsWith('"')) return err(badInput('Missing citation-mark at end of string'))
    const value = body.slice(1, -1)
    return ok({ value, isForbidden: hasForbidden(value) })
  }
  const value = words.get(body) ?? parseDecimal(body)
  if (body !== 'null' && body !== 'Null' && body !== 'NULL' && value === undefined) {
    return err(badInput('attribute value type not recognized'))
  }
  return ok({ value: value ?? null, isForbidden: false })
}

const words: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['True', true],
  ['TRUE', true],
  ['false', false],
  ['False', false],
  ['FALSE', false],
])
