import type { Cursor } from '../lmdb/views/browse.js'
import { walkedIndexes } from '../lmdb/views/walk.js'

/** How many parts the position in each index has, and of which kind. */
const parts = {
  sequence: ['number'],
  id: ['string', 'string', 'string'],
  cell: ['number', 'number', 'number'],
} as const

/** A cursor as it goes to a client and comes back. */
export function cursorText({ index, position }: Cursor): string {
  return Buffer.from(JSON.stringify([index, ...position])).toString('base64url')
}

/** The cursor that a client has sent; nothing when it is none. */
export function readCursor(text: string): Cursor | undefined {
  const read = parsed(Buffer.from(text, 'base64url').toString())
  if (!Array.isArray(read)) return undefined
  const [name, ...rest] = read.map((part: unknown) => part)
  const index = walkedIndexes.find((each) => each === name)
  if (index === undefined || rest.length !== parts[index].length) return undefined
  const position = rest.filter((part, at) => typeof part === parts[index][at] && isKeyPart(part))
  return position.length === rest.length ? { index, position: position.filter(isKeyPart) } : undefined
}

function isKeyPart(part: unknown): part is string | number {
  return typeof part === 'string' ? part.length <= longest_characters : Number.isSafeInteger(part)
}

/** No longer id or type is stored; longer keys LMDB does not take. */
const longest_characters = 256

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
