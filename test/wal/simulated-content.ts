import type { Random } from '../fuzz/random.js'

/** What a disk writes as a whole. */
export const sector_bytes = 512

/** Sectors as they were after one write. */
interface DirtySectors {
  readonly at: number
  readonly offset: number
  readonly bytes: Buffer
}

/**
 * What a file holds: as processes see it, which is the page cache, and as it lies on disk. Between two flushes each sector
 * may reach the disk after any of its writes, or not at all, whatever the other sectors do; so may the size.
 */
export class SimulatedContent {
  #cache: Buffer = Buffer.alloc(0)
  #size = 0
  #disk: Buffer = Buffer.alloc(0)
  #sizeOnDisk = 0
  #dirty: DirtySectors[] = []
  #failures = 0
  #sizes: { readonly at: number; readonly size: number }[] = []

  get size_bytes(): number {
    return this.#size
  }

  /** How many flushes have failed. */
  get failures(): number {
    return this.#failures
  }

  /** A copy of what processes see. */
  read(offset: number, length: number): Buffer {
    return Buffer.from(this.#cache.subarray(offset, Math.max(offset, Math.min(offset + length, this.#size))))
  }

  /** @param at the moment, which counts up */
  write(offset: number, bytes: Uint8Array, at: number): void {
    if (bytes.length === 0) return
    const end = offset + bytes.length
    this.#cache = withRoom(this.#cache, end)
    this.#cache.set(bytes, offset)
    if (end > this.#size) {
      this.#size = end
      this.#sizes.push({ at, size: end })
    }
    const begin = Math.floor(offset / sector_bytes) * sector_bytes
    const sectors = this.#cache.subarray(begin, Math.ceil(end / sector_bytes) * sector_bytes)
    this.#dirty.push({ at, offset: begin, bytes: Buffer.from(sectors) })
  }

  /** Brings to disk what was written up to a moment. */
  flush(upTo = Number.POSITIVE_INFINITY): void {
    this.#store(this.#dirty.filter(({ at }) => at <= upTo))
    const size = this.#sizes.findLast(({ at }) => at <= upTo)
    if (size) this.#sizeOnDisk = size.size
    this.#dirty = this.#dirty.filter(({ at }) => at > upTo)
    this.#sizes = this.#sizes.filter(({ at }) => at > upTo)
  }

  /**
   * A flush that fails as those of Linux do: some sectors did not reach the disk, none is tried again, and processes go on
   * seeing all of them.
   */
  failFlush(random: Random): void {
    this.#failures += 1
    this.#store(this.#dirtySectors().filter(() => random.once(2)))
    this.#dirty = []
    this.#sizeOnDisk = this.#size
    this.#sizes = []
  }

  /** The power goes: what was not flushed is lost, kept, torn or reordered. */
  losePower(random: Random): void {
    const outcome = random.pick(['lost', 'kept', 'cut', 'mixed', 'mixed'])
    if (outcome === 'kept') this.flush()
    else if (outcome === 'cut') {
      const sectors = this.#dirtySectors()
      this.#dirty = sectors.slice(0, random.below(sectors.length + 1))
      this.flush(this.#dirty.at(-1)?.at ?? 0)
    } else if (outcome === 'mixed') this.#mix(random)
    this.#dirty = []
    this.#sizes = []
    this.#disk.fill(0, this.#sizeOnDisk)
    this.#cache = Buffer.from(this.#disk)
    this.#size = this.#sizeOnDisk
  }

  #mix(random: Random): void {
    const versions = new Map<number, number>()
    const sectors = this.#dirtySectors()
    for (const { offset } of sectors) versions.set(offset, (versions.get(offset) ?? 0) + 1)
    for (const [offset, count] of versions) versions.set(offset, random.below(count + 1))
    const kept = sectors.filter(({ offset }) => {
      const left = versions.get(offset) ?? 0
      versions.set(offset, left - 1)
      return left > 0
    })
    this.#store(kept)
    this.#sizeOnDisk = random.any([...this.#sizes.map(({ size }) => size), this.#sizeOnDisk]) ?? this.#sizeOnDisk
  }

  /** Each sector on its own, in the order of the writes. */
  #dirtySectors(): DirtySectors[] {
    return this.#dirty.flatMap(({ at, offset, bytes }) =>
      Array.from({ length: bytes.length / sector_bytes }, (_, sector) => {
        const begin = sector * sector_bytes
        return { at, offset: offset + begin, bytes: bytes.subarray(begin, begin + sector_bytes) }
      }),
    )
  }

  #store(dirty: readonly DirtySectors[]): void {
    this.#disk = withRoom(this.#disk, this.#cache.length)
    for (const { bytes, offset } of dirty) this.#disk.set(bytes, offset)
  }
}

/** The bytes, in whole sectors, with room for this many. */
function withRoom(bytes: Buffer, length: number): Buffer {
  if (length <= bytes.length) return bytes
  const sectors = Math.ceil(Math.max(length, 2 * bytes.length) / sector_bytes)
  const longer = Buffer.alloc(sectors * sector_bytes)
  longer.set(bytes)
  return longer
}
