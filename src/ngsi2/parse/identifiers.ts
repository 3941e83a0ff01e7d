import type { ApiResponse } from '../../api.js'
import { excessiveLength, hasForbiddenInIdentifier } from '../../context/characters.js'
import { badInput } from '../ngsi2-errors.js'

/** What an identifier names, as errors call it [NGSIv2 context 4.1]. */
type Identified = 'entity id' | 'entity type' | 'attribute name' | 'attribute type' | 'metadata name' | 'metadata type'

/** What is wrong with an identifier: its length in bytes, then its characters [NGSIv2 context 4.1]. */
export function wrongIdentifier(what: Identified, text: string): ApiResponse | undefined {
  if (text === '') return badInput(`${what} length: 0, min length supported: 1`)
  const long = excessiveLength(text)
  if (long !== undefined) return badInput(`${what} length: ${long}, max length supported: 256`)
  return hasForbiddenInIdentifier(text) ? badInput(`Invalid characters in ${what}`) : undefined
}
