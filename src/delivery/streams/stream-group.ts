import { fnv1a } from '../../hash.js'
import type { QueuedNotice } from '../queue/notice-list.js'
import type { NoticeStream } from './notice-stream.js'

/** Entities are shared by the hash of their ordering key, so that what is remembered of them does not grow with their number. */
const slotsOfGroup = 1024

interface Slot {
  owner: Member | undefined
  /** Notices that were assigned to its owner and have not arrived. */
  open: number
}

/** A stream of a group, and which slots are its own. */
interface Member {
  readonly stream: NoticeStream
  readonly slots: Set<number>
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
  /** Members that may have something to do, the one that is next first. */
  readonly due = new Set<NoticeStream>()
  readonly #members = new Map<NoticeStream, Member>()
  readonly #slots = new Map<number, Slot>()
  /** The members that have as many slots as the index says: one with the fewest is found without looking at the others. */
  readonly #bySlots: Set<Member>[] = []
  /** No member has fewer slots. */
  #fewest = 0

  constructor(name: string | undefined) {
    this.name = name
  }

  get size(): number {
    return this.#members.size
  }

  /** Those that join or leave meanwhile are seen, or not seen. */
  get members(): Iterable<NoticeStream> {
    return this.#members.keys()
  }

  join(stream: NoticeStream): void {
    const member = { stream, slots: new Set<number>() }
    this.#members.set(stream, member)
    this.#count(member)
  }

  leave(stream: NoticeStream): void {
    const member = this.#members.get(stream)
    if (member === undefined) return
    this.#members.delete(stream)
    this.due.delete(stream)
    this.#having(member.slots.size).delete(member)
    for (const number of member.slots) this.#slots.delete(number)
  }

  /** The stream that a notice is for. There is one if there are members. */
  meantFor({ keyQueue }: QueuedNotice): NoticeStream | undefined {
    if (this.#members.size < 2) {
      const [only] = this.#members.keys()
      return only
    }
    const number = slotNumberOf(keyQueue.key)
    const slot = this.#slot(number)
    if (slot.owner !== undefined && slot.open > 0) return slot.owner.stream
    const least = this.#leastLoaded()
    if (slot.owner === undefined || slot.owner.slots.size > least.slots.size + 1) this.#give(number, slot, least)
    return slot.owner?.stream
  }

  /** A notice was assigned to a stream. */
  assigned(stream: NoticeStream, { keyQueue }: QueuedNotice): void {
    if (this.name === undefined) return
    const number = slotNumberOf(keyQueue.key)
    const slot = this.#slot(number)
    const member = this.#members.get(stream)
    if (slot.owner === undefined && member !== undefined) this.#give(number, slot, member)
    slot.open += 1
  }

  /** A notice that was assigned has left. */
  done({ keyQueue }: QueuedNotice): void {
    if (this.name !== undefined) this.#slot(slotNumberOf(keyQueue.key)).open -= 1
  }

  #slot(number: number): Slot {
    let slot = this.#slots.get(number)
    if (slot === undefined) {
      slot = { owner: undefined, open: 0 }
      this.#slots.set(number, slot)
    }
    return slot
  }

  #give(number: number, slot: Slot, owner: Member): void {
    for (const member of [slot.owner, owner]) {
      if (member === undefined) continue
      this.#having(member.slots.size).delete(member)
      if (member === owner) member.slots.add(number)
      else member.slots.delete(number)
      this.#count(member)
    }
    slot.owner = owner
  }

  #count(member: Member): void {
    const { size } = member.slots
    this.#having(size).add(member)
    this.#fewest = Math.min(this.#fewest, size)
  }

  /** There has to be a member. */
  #leastLoaded(): Member {
    for (;;) {
      const [least] = this.#having(this.#fewest)
      if (least !== undefined) return least
      this.#fewest += 1
    }
  }

  #having(slots: number): Set<Member> {
    let members = this.#bySlots[slots]
    if (members === undefined) {
      members = new Set()
      this.#bySlots[slots] = members
    }
    return members
  }
}

function slotNumberOf(key: string): number {
  return (fnv1a(key) >>> 0) % slotsOfGroup
}
