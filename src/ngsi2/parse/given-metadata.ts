import type { ApiResponse } from '../../api.js'
import { hasForbidden } from '../../context/characters.js'
import { parseDate } from '../../context/date.js'
import type { Metadata, Value } from '../../context/entity.js'
import { isDateType, isUnrestricted } from '../../context/typed-value.js'
import { shownType } from '../../context/value.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { badInput } from '../ngsi2-errors.js'
import { hasParts, readValue, scalarGiven } from './given-value.js'
import { wrongIdentifier } from './identifiers.js'
import { isTreeObject, type Tree } from './payload-tree.js'

/** Elements without parts that are read before somebody may look at the clock. */
const elementsAtOnce = 64

/** Reads the metadata of an attribute; of elements of one name the last one counts [NGSIv2 context 2.3, 15]. */
export function* readMetadata(tree: Tree): Steps<Result<readonly Metadata[], ApiResponse>> {
  if (!isTreeObject(tree)) return err(badInput('metadata not a JSON object'))
  const elements: Metadata[] = []
  for (const [name, body] of tree.members) {
    const wrong = wrongIdentifier('metadata name', name)
    if (wrong) return err(wrong)
    const element = yield* readElement(name, body)
    if (!element.ok) return element
    elements.push(element.value)
    if (hasParts(element.value) || elements.length % elementsAtOnce === 0) yield
  }
  return ok(elements)
}

function* readElement(name: string, tree: Tree): Steps<Result<Metadata, ApiResponse>> {
  if (!isTreeObject(tree)) return err(badInput('metadata must be a JSON object'))
  let type: string | undefined
  let value: Value = null
  for (const [key, member] of tree.members) {
    if (key === 'type') {
      if (typeof member !== 'string') return err(badInput('invalid JSON type for attribute metadata type'))
      const wrong = wrongIdentifier('metadata type', member)
      if (wrong) return err(wrong)
      type = member
    } else if (key === 'value') {
      const read = scalarGiven(member) ?? (yield* readValue(member))
      if (!read.ok) return read
      value = read.value.value
    } else return err(badInput('invalid JSON field for attribute metadata'))
  }
  return typed(name, shownType({ type: type ?? '', value }), value)
}

/** Dates are stored as instants; only a text that is the value itself is looked at for characters [NGSIv2 context 3.2, 4.1]. */
function typed(name: string, type: string, value: Value): Result<Metadata, ApiResponse> {
  if (typeof value === 'string' && hasForbidden(value) && !isUnrestricted(type, [])) {
    return err(badInput('Invalid characters in metadata value'))
  }
  if (!isDateType(type) || value === null) return ok({ name, type, value })
  const date = typeof value === 'string' ? parseDate(value) : undefined
  return date === undefined
    ? err(badInput('date has invalid format in metadata value'))
    : ok({ name, type, value: date })
}
