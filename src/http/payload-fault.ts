import { hasForbidden } from '../context/entity.js'
import { findJsonFault, type JsonScalar, type JsonTree, readTree, scalarsByKind } from '../json-reader.js'
import { atOnce } from '../slices.js'

/**
 * What a refused payload has that may be what is wrong with it, and where, for the log: the texts of answers are fixed.
 * Nothing of the payload is in it but names of members and one character. `reason` is what the answer says.
 */
export function payloadFaultOf(body: string, reason: string): string | undefined {
  const fault = findJsonFault(body)
  if (fault !== undefined) return `${placeIn(body, fault.at)}: ${fault.expected} is expected`
  if (reason === 'JSON Parse Error' || reason === 'Errors found in incoming JSON buffer') {
    return 'it is JSON, but an object, an array or a text stands where another one of them belongs'
  }
  return /illegal value|characters/i.test(reason) ? firstForbidden(body) : undefined
}

/** The line and the column of a place in a text, both from 1. */
function placeIn(text: string, at: number): string {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  return `line ${line}, column ${column}`
}

/** The first text of a payload that has a character which most texts may not have, by the path of its members. */
function firstForbidden(body: string): string | undefined {
  const tree = atOnce(readTree(body, scalarsByKind))
  const found = tree.ok ? forbiddenIn(tree.value, '') : undefined
  return found && `the first text with one of < > " ' = ; ( ) is ${found.path}, it has ${found.character}`
}

/** What of a path is shown: its members may be as long as a payload. */
const longestPath = 256

interface Forbidden {
  readonly path: string
  readonly character: string
}

function forbiddenIn(tree: JsonTree<JsonScalar>, path: string): Forbidden | undefined {
  if (typeof tree === 'string') {
    const character = hasForbidden(tree) ? [...tree].find(hasForbidden) : undefined
    return character === undefined ? undefined : { path, character }
  }
  if (typeof tree !== 'object' || tree === null) return undefined
  const parts = 'members' in tree ? tree.members : tree.map((item, at) => [String(at), item] as const)
  for (const [key, part] of parts) {
    const found = forbiddenIn(part, `${path}/${key}`.slice(0, longestPath))
    if (found) return found
  }
  return undefined
}
