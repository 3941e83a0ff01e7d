import type { CallFault, EtcdCalls } from './etcd-client.js'
import { eventDelete, type KeyValue, type WatchResponse } from './etcd-protocol.js'

/** The values of the keys below a prefix, as they were last seen, by the keys without the prefix. */
export type WatchedKeys = ReadonlyMap<string, Buffer>

/** The pause after a failure. */
const again_ms = 200

/**
 * Follows the keys below a prefix: reads them all, then hears of each change, and begins anew when the stream has ended. It
 * may be late by as long as a connection that is cut takes to be noticed: a hint, on which nothing may rest.
 */
export class KeyWatch {
  readonly #client: EtcdCalls
  readonly #prefix: string
  readonly #changed: (keys: WatchedKeys) => void
  readonly #keys = new Map<string, Buffer>()
  #stream: { close(): void } | undefined
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  /** `changed` is called when all keys were read, and after each change. The prefix ends with a slash. */
  constructor(client: EtcdCalls, prefix: string, changed: (keys: WatchedKeys) => void) {
    this.#client = client
    this.#prefix = prefix
    this.#changed = changed
    void this.#begin()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#stream?.close()
  }

  async #begin(): Promise<void> {
    const range = { key: this.#prefix, rangeEnd: endOf(this.#prefix) }
    const read = await this.#client.call('range', range)
    if (this.#isStopped) return
    if (!read.ok) return this.#later()
    this.#keys.clear()
    for (const pair of read.value.kvs) this.#put(pair)
    this.#changed(this.#keys)
    const createRequest = { ...range, startRevision: read.value.header.revision + 1 }
    const ended = (_fault: CallFault): void => this.#later()
    this.#stream = this.#client.open('watch', { createRequest }, (response) => this.#take(response), ended)
  }

  #take({ canceled, events }: WatchResponse): void {
    if (canceled) {
      // The revision to begin with is compacted, or the member has no leader.
      this.#stream?.close()
      this.#later()
      return
    }
    for (const { type, kv } of events) {
      if (type === eventDelete) this.#keys.delete(this.#nameOf(kv))
      else this.#put(kv)
    }
    if (events.length > 0) this.#changed(this.#keys)
  }

  #put(pair: KeyValue): void {
    this.#keys.set(this.#nameOf(pair), pair.value)
  }

  #nameOf({ key }: KeyValue): string {
    return key.subarray(this.#prefix.length).toString()
  }

  #later(): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => void this.#begin(), again_ms)
  }
}

/** The first key behind all keys with a prefix that ends with a slash: `0` is the character after the slash. */
export function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)}0`
}
