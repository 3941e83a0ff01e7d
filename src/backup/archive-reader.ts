import { Header } from 'tar/header'

/** What is wrong with an archive, for whoever receives it. */
export class WrongArchive extends Error {
  override readonly name = 'WrongArchive'
}

/** Who takes the files of an archive. */
export interface ArchiveTaker {
  /** A file begins; throws when it does not belong to a backup. */
  begin(name: string, bytes: number): Promise<void>
  /** The next bytes of the file that has begun. */
  take(bytes: Uint8Array): Promise<void>
  end(): Promise<void>
}

const block_bytes = 512

/**
 * Hands over the files of an archive as its pieces come, in bounded memory. Throws `WrongArchive` when it is not whole or
 * holds something else than files, and what its source and the taker throw.
 */
export async function readArchive(pieces: AsyncIterable<Uint8Array>, taker: ArchiveTaker): Promise<void> {
  const blocks = new Blocks(pieces)
  for (;;) {
    const head = await blocks.next(block_bytes)
    if (head.every((byte) => byte === 0)) return
    const { path, size, type, cksumValid } = new Header(head)
    if (!cksumValid || path === undefined || size === undefined || type !== 'File') {
      throw new WrongArchive('what came is no backup: a file was expected where something else stands')
    }
    await taker.begin(path, size)
    let left = size
    while (left > 0) {
      const bytes = await blocks.atMost(left)
      left -= bytes.length
      await taker.take(bytes)
    }
    await blocks.next((block_bytes - (size % block_bytes)) % block_bytes)
    await taker.end()
  }
}

/** Pieces of any length, cut anew. */
class Blocks {
  readonly #pieces: AsyncIterator<Uint8Array>
  #held: Uint8Array = new Uint8Array()

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** Exactly so many bytes, few. */
  async next(bytes: number): Promise<Buffer> {
    const block = Buffer.alloc(bytes)
    for (let filled = 0; filled < bytes; ) {
      const part = await this.atMost(bytes - filled)
      block.set(part, filled)
      filled += part.length
    }
    return block
  }

  /** What there is, at least one byte and no more than this. */
  async atMost(bytes: number): Promise<Uint8Array> {
    while (this.#held.length === 0) {
      const next = await this.#pieces.next()
      if (next.done) throw new WrongArchive('the backup is not whole: it ended too early')
      this.#held = next.value
    }
    const part = this.#held.subarray(0, bytes)
    this.#held = this.#held.subarray(part.length)
    return part
  }
}
