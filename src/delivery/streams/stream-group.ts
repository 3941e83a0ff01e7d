import { fnv1a } from '../../hash.js'
import type { QueuedNotice } from '../queue/notice-list.js'
import type { NoticeStream } from './notice-stream.js'

/** Entities are shared by the hash of their ordering key, so that what is remembered of them does not grow with their number. */
const slotsOfGroup = 1024

interface Slot {
  owner: NoticeStream | undefined
  /** Notices that were assigned to its owner and have not arrived. */
  open: number
}

/**
 * The streams that share the notices of a subscription. All notices of an entity go to one of them; they go to another one
 * when that one has left, or has so many more entities than the others that they should be shared anew, and only while
 * none of them is on the way: so their order holds.
 */
export class StreamGroup {
  readonly name: string | undefined
  /** When the stream of its last member began, see `StreamRequest`; 0 where that does not matter. */
  since = 0
  readonly #members: NoticeStream[] = []
  readonly #slots = new Map<number, Slot>()

  constructor(name: string | undefined) {
    this.name = name
  }

  get members(): readonly NoticeStream[] {
    return this.#members
  }

  join(stream: NoticeStream): void {
    this.#members.push(stream)
  }

  leave(stream: NoticeStream): void {
    this.#members.splice(this.#members.indexOf(stream), 1)
    for (const [number, { owner }] of this.#slots) if (owner === stream) this.#slots.delete(number)
  }

  /** The stream that a notice is for. There is one if there are members. */
  meantFor({ keyQueue }: QueuedNotice): NoticeStream | undefined {
    const [first, ...others] = this.#members
    if (first === undefined || others.length === 0) return first
    const slot = this.#slotOf(keyQueue.key)
    if (slot.owner !== undefined && slot.open > 0) return slot.owner
    const least = others.reduce((found, each) => (each.slots < found.slots ? each : found), first)
    if (slot.owner === undefined || slot.owner.slots > least.slots + 1) {
      if (slot.owner !== undefined) slot.owner.slots -= 1
      slot.owner = least
      least.slots += 1
    }
    return slot.owner
  }

  /** A notice was assigned to a stream. */
  assigned(stream: NoticeStream, { keyQueue }: QueuedNotice): void {
    if (this.name === undefined) return
    const slot = this.#slotOf(keyQueue.key)
    if (slot.owner === undefined) {
      slot.owner = stream
      stream.slots += 1
    }
    slot.open += 1
  }

  /** A notice that was assigned has left. */
  done({ keyQueue }: QueuedNotice): void {
    if (this.name !== undefined) this.#slotOf(keyQueue.key).open -= 1
  }

  #slotOf(key: string): Slot {
    const number = (fnv1a(key) >>> 0) % slotsOfGroup
    let slot = this.#slots.get(number)
    if (slot === undefined) {
      slot = { owner: undefined, open: 0 }
      this.#slots.set(number, slot)
    }
    return slot
  }
}
