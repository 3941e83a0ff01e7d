import { constants } from 'node:os'
import type { Outbox } from '../../src/storage/store/outbox.js'
import type { WriteWatch } from '../../src/threads/shared-memory/thread-beats.js'

const { EIO, ENOSPC } = constants.errno

/** What a write transaction throws, and when. */
export interface PlayedException {
  /** Before it has begun, within it, or when it is committed and its writer is not told so. */
  readonly at: 'begin' | 'write' | 'commit'
  /** A fault of the disk, no room although there was some at the last look, or a fault of ours. */
  readonly as: 'disk' | 'full' | 'ours'
}

const kinds = ['disk', 'full', 'ours'] as const

/** All that can happen: only a fault of the disk leaves open whether something was written. */
export const exceptions: readonly PlayedException[] = [
  ...kinds.map((as) => ({ at: 'begin', as }) as const),
  ...kinds.map((as) => ({ at: 'write', as }) as const),
  { at: 'commit', as: 'disk' },
]

/** The write transactions of an open store, one of which throws when it is told to. */
export class PlayedTransactions {
  readonly writing: WriteWatch
  /** Whether one has thrown just now: what fails in the same turn of the event loop fails because of that. */
  hasThrown = false
  readonly #filled: () => void
  #next: PlayedException | undefined
  #isWritten = false

  /** `begun` is called before each transaction, `filled` when one throws since there is no room. */
  constructor(begun: () => void, filled: () => void) {
    this.#filled = filled
    this.writing = {
      begun: () => {
        begun()
        this.#throw('begin')
        this.#isWritten = true
      },
      ended: () => {
        if (this.#isWritten) this.#throw('commit')
      },
      goesOn: () => {},
      recovers: () => {},
    }
  }

  /** The store is open. All transactions with turns write acks, behind most of the rest. */
  opened(outbox: Outbox): void {
    const ack = outbox.ack.bind(outbox)
    Object.assign(outbox, {
      ack: (...acks: Parameters<Outbox['ack']>) => {
        ack(...acks)
        this.#throw('write')
      },
    })
  }

  throwNext(exception: PlayedException | undefined): void {
    this.#next = exception
  }

  #throw(at: PlayedException['at']): void {
    if (this.#next?.at !== at) return
    const { as } = this.#next
    this.#next = undefined
    this.#isWritten = false
    this.hasThrown = true
    setImmediate(() => {
      this.hasThrown = false
    })
    if (as === 'full') this.#filled()
    const fault = new Error(`a transaction throws: ${at}, ${as}`)
    throw as === 'ours' ? fault : Object.assign(fault, { code: as === 'disk' ? EIO : ENOSPC })
  }
}
