import { createHash } from 'node:crypto'
import { pinnedPieces } from '../../storage/archive/archive.js'
import type { PinnedFile } from '../../storage/records/store.js'
import { checksum_bytes } from './link-protocol.js'

/**
 * The bytes of a file whose commit is pinned, followed by their checksum. Throws errors of the file system. Throws in place of
 * the checksum when, as `wasKept` says, the commit was not pinned until then: the bytes may then belong to several commits.
 */
export async function* checkpointPieces(
  file: PinnedFile,
  wasKept: () => Promise<boolean>,
): AsyncGenerator<Buffer, void> {
  const hash = createHash('sha256')
  for await (const piece of pinnedPieces(file)) {
    hash.update(piece)
    yield piece
  }
  if (!(await wasKept())) throw new Error('the thread of the partition was replaced meanwhile')
  yield hash.digest()
}

/**
 * The bytes of a file that `checkpointPieces` has sent, without the checksum. Throws after the last byte when checksum or length
 * do not match; whatever was written of them has to be thrown away.
 */
export async function* receivedCheckpoint(
  pieces: AsyncIterable<Buffer>,
  file_bytes: number,
): AsyncGenerator<Buffer, void> {
  const hash = createHash('sha256')
  const checksum: Buffer[] = []
  let received = 0
  for await (const piece of pieces) {
    const own = piece.subarray(0, Math.max(0, file_bytes - received))
    if (own.length < piece.length) checksum.push(piece.subarray(own.length))
    received += piece.length
    if (received > file_bytes + checksum_bytes) break
    if (own.length === 0) continue
    hash.update(own)
    yield own
  }
  if (received !== file_bytes + checksum_bytes) throw new Error('the snapshot does not have the announced length')
  if (!hash.digest().equals(Buffer.concat(checksum))) throw new Error('the snapshot was damaged on its way')
}
