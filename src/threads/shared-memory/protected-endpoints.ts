/** A service that only the broker, its cluster and its operator may use: it listens on each of the hosts at each of the ports. */
export interface ProtectedService {
  /** Names and addresses, without brackets. */
  readonly hosts: readonly string[]
  readonly ports: readonly number[]
}

/** Enough for the longest list: the most hosts of the most nodes, with the longest names. */
const area_bytes = 2 ** 19
const words = 3
const header_bytes = words * Int32Array.BYTES_PER_ELEMENT

/** The most hosts and ports of one service; further ones are left out. */
export const serviceMost = { hosts: 64, ports: 64 } as const

/** The longest name. */
const hostMost = 255

/** A reader whose area is overwritten reads again. That is rare: the list changes when nodes or members of etcd come and go. */
const readsMost = 1000

/**
 * The services that no client may make the broker connect to, in memory that all threads share. The main thread writes the whole
 * list into the area that is not valid, and then makes it the valid one. A reader caches the list until the version changes.
 */
export class ProtectedEndpoints {
  readonly #header: Int32Array
  readonly #areas: readonly Uint8Array[]
  readonly #sources = new Map<string, readonly ProtectedService[]>()
  #read: { readonly version: number; readonly services: readonly ProtectedService[] } = { version: 0, services: [] }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(header_bytes + 2 * area_bytes)
  }

  constructor(memory: SharedArrayBuffer = ProtectedEndpoints.memory()) {
    this.#header = new Int32Array(memory, 0, words)
    this.#areas = [0, 1].map((area) => new Uint8Array(memory, header_bytes + area * area_bytes, area_bytes))
  }

  /** Grows with every change. */
  get version(): number {
    return Atomics.load(this.#header, 0)
  }

  get services(): readonly ProtectedService[] {
    for (let reads = 0; reads < readsMost; reads += 1) {
      const { version } = this
      if (version === this.#read.version) return this.#read.services
      const bytes = Buffer.from(this.#area(version).slice(0, Atomics.load(this.#header, 1 + (version % 2))))
      if (this.version !== version) continue
      // Only `put` writes it.
      this.#read = { version, services: JSON.parse(bytes.toString()) as readonly ProtectedService[] }
    }
    throw new Error('the protected endpoints change all the time')
  }

  /** Replaces the services of one source. To be called in one thread only, which knows the services of all sources. */
  put(source: string, services: readonly ProtectedService[]): void {
    const limited = services.map(({ hosts, ports }) => ({
      hosts: hosts.filter(({ length }) => length <= hostMost).slice(0, serviceMost.hosts),
      ports: ports.slice(0, serviceMost.ports),
    }))
    if (JSON.stringify(limited) === JSON.stringify(this.#sources.get(source))) return
    this.#sources.set(source, limited)
    const bytes = Buffer.from(JSON.stringify([...this.#sources.values()].flat()))
    if (bytes.length > area_bytes) throw new Error(`${bytes.length} bytes of protected endpoints have no room`)
    const next = this.version + 1
    this.#area(next).set(bytes)
    Atomics.store(this.#header, 1 + (next % 2), bytes.length)
    Atomics.store(this.#header, 0, next)
  }

  #area(version: number): Uint8Array {
    const area = this.#areas[version % 2]
    if (area === undefined) throw new Error(`there is no area of version ${version}`)
    return area
  }
}
