import { err, type Result } from '../../result.js'
import type { MailboxCapacity } from '../../threads/shared-memory/limits.js'
import type { Command } from '../turn/commands.js'
import type { LostBatch, MailboxRefusal, Posted } from './batch.js'

export interface BoundedMailboxSettings {
  /** How many commands may be in the mailboxes of all front ends together, those under way included. */
  readonly room: MailboxCapacity
  /** Gets the number of commands in the mailbox, reserved room included, whenever it changes. */
  readonly depth: (commands: number) => void
}

/**
 * A front end's mailbox, wherever its partition is: ordered, and bounded by the room that a request takes for its commands before it
 * puts them in.
 */
export abstract class BoundedMailbox {
  readonly #room: MailboxCapacity
  readonly #depth: (commands: number) => void
  /** Commands with reserved room, whether they were put in already or not. */
  #count = 0
  #isSendingSoon = false
  #ping: Promise<Result<Posted, LostBatch>> | undefined
  #whenEmpty: (() => void)[] = []

  constructor({ room, depth }: BoundedMailboxSettings) {
    this.#room = room
    this.#depth = depth
  }

  /** Puts in a command with reserved room; resolves with the partition's reply once it is durable. */
  abstract put(command: Command): Promise<Result<Posted, LostBatch>>

  /** Takes in what has arrived, and sends what has gathered: for callers that keep the event loop busy for long. */
  abstract catchUp(): void

  abstract close(): void

  /** Whether there is something to send commands to. */
  protected abstract get isOpen(): boolean

  /** Sends what has gathered. */
  protected abstract send(): void

  /**
   * Reserves room for the commands of one request; each is then put in or given up by `release`. Refuses without having taken any
   * when they do not fit, or when there is no partition.
   */
  reserve(commands: number): MailboxRefusal | undefined {
    if (!this.isOpen) return { kind: 'partitionLost' }
    if (!this.#room.take(commands)) return { kind: 'mailboxFull' }
    this.#changed(commands)
    return undefined
  }

  /** Gives up reserved room that is not used. */
  release(commands: number): void {
    this.#room.release(commands)
    this.#changed(-commands)
  }

  /** Puts in a command; resolves with the partition's reply once it is durable. Refuses when full or without a partition. */
  ask(command: Command): Promise<Result<Posted, MailboxRefusal>> {
    const refusal = this.reserve(1)
    return refusal ? Promise.resolve(err(refusal)) : this.put(command)
  }

  /** Asks for a sign of life, which needs no room. Callers share one that is under way. */
  ping(): Promise<Result<Posted, LostBatch>> {
    if (this.#ping === undefined) {
      if (!this.isOpen) return Promise.resolve(err({ kind: 'partitionLost' }))
      this.#room.force(1)
      this.#changed(1)
      this.#ping = this.put({ kind: 'ping' }).finally(() => {
        this.#ping = undefined
      })
    }
    return this.#ping
  }

  /** Resolves when nothing waits and nothing is under way. */
  empty(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenEmpty.push(resolve))
  }

  /** Sends what has gathered when the event loop has taken in all that has arrived. */
  protected sendSoon(): void {
    if (this.#isSendingSoon) return
    this.#isSendingSoon = true
    setImmediate(() => {
      this.#isSendingSoon = false
      this.send()
    })
  }

  #changed(by: number): void {
    this.#count += by
    this.#depth(this.#count)
    if (this.#count > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }
}
