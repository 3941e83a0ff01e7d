import { deserialize } from 'bson'
import type { GivenObject } from '../../../api/ngsi2/parse/tree.js'
import { faultText } from '../../../faults.js'

/** The largest document of MongoDB, with room for what dumps add. */
const maxDocument_bytes = 2 ** 24 + 2 ** 16

/** An element of a stream: a document, the separator of an archive, or the reason why reading ends. */
export type BsonPiece =
  | { readonly kind: 'document'; readonly document: GivenObject }
  | { readonly kind: 'terminator' }
  | { readonly kind: 'damaged'; readonly reason: string }

/** The documents of a mongodump file, in groups as they arrive. */
export async function* bsonPieces(pieces: AsyncIterable<Buffer>, skip_bytes = 0): AsyncGenerator<readonly BsonPiece[]> {
  let held: Buffer = Buffer.alloc(0)
  let skip = skip_bytes
  for await (const piece of pieces) {
    held = held.length === 0 ? piece : Buffer.concat([held, piece])
    if (skip > 0) {
      const skipped = Math.min(skip, held.length)
      held = held.subarray(skipped)
      skip -= skipped
    }
    const read = documentsIn(held)
    held = read.rest
    if (read.pieces.length > 0) yield read.pieces
    if (read.pieces.at(-1)?.kind === 'damaged') return
  }
  if (held.length > 0)
    yield [{ kind: 'damaged', reason: `the file was cut: ${held.length} bytes of a document are left` }]
}

function documentsIn(bytes: Buffer): { readonly pieces: readonly BsonPiece[]; readonly rest: Buffer } {
  const pieces: BsonPiece[] = []
  let at = 0
  while (bytes.length - at >= 4) {
    const length = bytes.readInt32LE(at)
    if (length === -1) {
      pieces.push({ kind: 'terminator' })
      at += 4
      continue
    }
    if (length < 5 || length > maxDocument_bytes) {
      pieces.push({ kind: 'damaged', reason: `what follows is no BSON: a document cannot be ${length} bytes long` })
      break
    }
    if (bytes.length - at < length) break
    const piece = documentOf(bytes.subarray(at, at + length))
    pieces.push(piece)
    if (piece.kind === 'damaged') break
    at += length
  }
  return { pieces, rest: bytes.subarray(at) }
}

function documentOf(bytes: Buffer): BsonPiece {
  try {
    return { kind: 'document', document: deserialize(bytes, { promoteBuffers: false }) }
  } catch (fault) {
    return { kind: 'damaged', reason: `a document is no BSON: ${faultText(fault)}` }
  }
}
