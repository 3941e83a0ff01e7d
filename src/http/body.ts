import type { IncomingMessage } from 'node:http'
import type { HeldMemory } from '../shared-memory/request-memory.js'

/** What is told while a body arrives. */
export interface BodyReader {
  chunk(bytes: number, received: number): void
  /** All of it has come. */
  complete(body: string, bytes: number): void
  /** More than the limit has come; nothing more is kept. */
  tooLong(received: number): void
  /** There is no memory for what has come; nothing more is kept. */
  noRoom(): void
}

/**
 * Reads a body up to the limit; its head may have said how long it is. Nothing is told when the connection goes: whoever
 * owns it knows.
 */
export function readBody(
  incoming: IncomingMessage,
  limit: number,
  announced: number | undefined,
  memory: HeldMemory,
  reader: BodyReader,
): void {
  const pieces = new Pieces(memory, announced ?? limit)
  let received = 0
  let kept = true
  incoming.on('data', (chunk: Buffer) => {
    if (!kept) return
    received += chunk.length
    reader.chunk(chunk.length, received)
    if (received <= limit && pieces.add(chunk)) return
    kept = false
    pieces.drop()
    if (received > limit) reader.tooLong(received)
    else reader.noRoom()
  })
  incoming.on('end', () => {
    if (!kept) return
    kept = false
    reader.complete(pieces.text(), received)
  })
}

const firstSize_bytes = 8192

/** The pieces of a body. Copied together when there are several: a piece of one byte costs a hundred by itself. */
class Pieces {
  readonly #memory: HeldMemory
  readonly #most: number
  #only: Buffer | undefined
  #joined: Buffer | undefined
  #length = 0

  /** At most this many bytes will come. */
  constructor(memory: HeldMemory, most: number) {
    this.#memory = memory
    this.#most = most
  }

  /** Says no when there is no memory for it. */
  add(piece: Buffer): boolean {
    const length = this.#length + piece.length
    if (this.#length === 0) {
      if (!this.#memory.take(length)) return false
      this.#only = piece
    } else {
      const joined = this.#withRoom(length)
      if (joined === undefined) return false
      piece.copy(joined, this.#length)
    }
    this.#length = length
    return true
  }

  text(): string {
    const text = this.#joined?.toString('utf8', 0, this.#length) ?? this.#only?.toString() ?? ''
    this.drop()
    return text
  }

  drop(): void {
    this.#only = undefined
    this.#joined = undefined
  }

  #withRoom(length: number): Buffer | undefined {
    const held = this.#joined
    if (held !== undefined && held.length >= length) return held
    const size = Math.max(length, Math.min(this.#most, Math.max(firstSize_bytes, 2 * length)))
    // What is copied together is let go of: its memory goes over to the copy.
    if (!this.#memory.take(size - (held?.length ?? this.#length))) return undefined
    const joined = Buffer.allocUnsafeSlow(size)
    ;(held ?? this.#only)?.copy(joined, 0, 0, this.#length)
    this.#only = undefined
    this.#joined = joined
    return joined
  }
}
