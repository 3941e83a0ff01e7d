import { excessiveLength, hasForbiddenInId } from '../../context/characters.js'
import type { Value } from '../../context/entity.js'
import { type Given, type GivenObject, isGivenObject, member, refuse, refuseTooDeep } from './checked.js'

const attributeMembers: ReadonlySet<string> = new Set(['value', 'type', 'metadata'])
const metadataMembers: ReadonlySet<string> = new Set(['value', 'type'])
const maxPriority = 100_000

/**
 * Reads the attributes that a custom notification lays upon its entity. They are kept as they were given: special types mean
 * nothing in them, and forbidden characters are allowed [NGSIv2 subscriptions 2.5].
 */
export function readNgsiTemplate(given: Given): { readonly [name: string]: Value } {
  if (!isGivenObject(given)) refuse('ngsi field in httpCustom, mqttCustom or kafkaCustom must be object')
  for (const [name, item] of Object.entries(given)) {
    if (name === 'id' || name === 'type') {
      if (typeof item !== 'string') refuse(`Invalid JSON type for entity ${name}`)
    } else {
      checkName(name)
      checkAttribute(item)
    }
  }
  return given as { readonly [name: string]: Value } // It was read as JSON.
}

function checkName(name: string): void {
  if (name === '') refuse('attribute name length: 0, min length supported: 1')
  const bytes = excessiveLength(name)
  if (bytes !== undefined) refuse(`attribute name length: ${bytes}, max length supported: 256`)
  if (hasForbiddenInId(name)) refuse('Invalid characters in attribute name')
}

function checkAttribute(given: Given): void {
  if (!isGivenObject(given)) refuse('attribute must be a JSON object, unless keyValues option is used')
  for (const [name, item] of Object.entries(given)) {
    if (!attributeMembers.has(name)) refuse('unrecognized property for context attribute')
    if (name === 'type' && typeof item !== 'string') refuse('invalid JSON type for attribute type')
    if (name === 'value') refuseTooDeep(item)
    if (name === 'metadata') checkMetadata(item)
  }
}

function checkMetadata(given: Given): void {
  if (!isGivenObject(given)) refuse('metadata not a JSON object')
  for (const [name, element] of Object.entries(given)) {
    if (name !== 'evalPriority') {
      refuse('only evalPriority metadata is allowed in ngsi field in custom notifications')
    }
    if (!isGivenObject(element)) refuse('metadata must be a JSON object')
    checkElement(element)
  }
}

function checkElement(element: GivenObject): void {
  for (const [name, item] of Object.entries(element)) {
    if (!metadataMembers.has(name)) refuse('invalid JSON field for attribute metadata')
    if (name === 'type' && typeof item !== 'string') refuse('invalid JSON type for attribute metadata type')
  }
  const priority = member(element, 'value')
  if (typeof priority !== 'number') refuse('evalPriority metadata must be a number')
  if (priority < 1) refuse('evalPriority metadata minimum priority is 1')
  if (priority > maxPriority) refuse('evalPriority metadata maximum priority is 100000')
}
