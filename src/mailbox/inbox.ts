import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { errorFacts, type Log } from '../log/log.js'
import type { StorageMeter, WaitMeter } from '../measure/waits.js'
import { decodeCommands, encodeReplies } from '../partition/encoding.js'
import type { Command, Reply } from '../partition/message.js'
import { StorageFull } from '../partition/store.js'
import { type TurnParts, takeTurn } from '../partition/turn.js'
import type { Bell } from '../subscription/bell.js'
import type { NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId, SubscriptionInForce } from '../subscription/subscription.js'
import { secondsText } from '../time.js'
import { traceArea } from '../trace-area.js'
import type { Letter, Receipt } from './letter.js'

export interface InboxParts extends TurnParts {
  /** Rung when there are new notices on disk. */
  readonly bell: Bell
  readonly storage: StorageMeter
  readonly mailboxWait: WaitMeter
  readonly transactionWait: WaitMeter
  readonly log: Log
}

interface Arrived {
  readonly port: MessagePort
  readonly letter: Letter
  readonly commands: readonly Command[]
}

/**
 * The partition's side of its mailboxes, one per front end: takes everything that has arrived into one turn, and
 * answers when the turn is on disk.
 */
export class Inbox {
  readonly #parts: InboxParts
  readonly #ports = new Set<MessagePort>()
  #lastTurnEnd = 0n

  constructor(parts: InboxParts) {
    this.#parts = parts
  }

  /** Takes letters from one more front end. */
  connect(port: MessagePort): void {
    this.#ports.add(port)
    port.on('message', (letter: Letter) => this.#take(port, letter))
    port.once('close', () => this.#ports.delete(port))
  }

  /** From the next turn on the subscription is in force; gives the last notice that was made before. */
  subscribe(inForce: SubscriptionInForce): NoticeNumber {
    this.#parts.wakes.put(inForce)
    return this.#parts.store.lastNotice
  }

  /** From the next turn on the subscription makes no notices; gives the last one that was made before. */
  unsubscribe(id: SubscriptionId): NoticeNumber {
    this.#parts.wakes.remove(id)
    return this.#parts.store.lastNotice
  }

  /** Answers what has arrived and hangs up; front ends were told to send nothing more. */
  close(): void {
    const left = this.#collect([])
    if (left.length > 0) this.#turn(left)
    for (const port of this.#ports) port.close()
  }

  #take(port: MessagePort, letter: Letter): void {
    this.#turn(this.#collect([{ port, letter, commands: decodeCommands(letter.commands) }]))
  }

  #collect(arrived: Arrived[]): readonly Arrived[] {
    for (const port of this.#ports) {
      for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
        const letter: Letter = next.message
        arrived.push({ port, letter, commands: decodeCommands(letter.commands) })
      }
    }
    return arrived
  }

  #turn(arrived: readonly Arrived[]): void {
    const taken = process.hrtime.bigint()
    const [single] = arrived
    const batch = single && arrived.length === 1 ? single.commands : arrived.flatMap(({ commands }) => commands)
    let opened = 0n
    let written = taken
    const watch = {
      opened: () => {
        if (opened !== 0n) return // The batch is being taken one by one, after it failed as a whole.
        opened = process.hrtime.bigint()
        this.#measure(arrived, taken, opened)
        this.#parts.storage.writing(true)
      },
      written: () => {
        written = process.hrtime.bigint()
      },
    }
    const { log } = this.#parts
    if (log.traces[traceArea['service.take']] === 1) {
      log.trace('service.take', `${batch.length} commands taken`, { commands: batch.length, letters: arrived.length })
    }
    const { store, bell } = this.#parts
    const lastNotice = store.lastNotice
    const replies = this.#replies(batch, watch)
    this.#lastTurnEnd = process.hrtime.bigint()
    this.#traceTurn(batch.length, opened, written)
    // Whoever hears it looks for the notices in a snapshot, which is new because the commit was counted.
    if (store.lastNotice !== lastNotice) bell.ring()
    this.#parts.storage.writing(false)
    this.#parts.storage.committed(batch.length, this.#lastTurnEnd - written)
    this.#send(arrived, replies, Number(written - opened), Number(this.#lastTurnEnd - written))
  }

  #traceTurn(commands: number, opened: bigint, written: bigint): void {
    const { log } = this.#parts
    if (log.traces[traceArea['storage.txn']] === 1) {
      const open_ns = String(this.#lastTurnEnd - opened)
      log.trace('storage.txn', `write transaction of ${commands} commands`, { commands, open_ns })
    }
    if (log.traces[traceArea['storage.commit']] === 1) {
      const commit_ns = String(this.#lastTurnEnd - written)
      log.trace('storage.commit', `commit and sync took ${secondsText(this.#lastTurnEnd - written)} s`, { commit_ns })
    }
  }

  /** Faults are logged once, here where they are caught. */
  #fault(fault: unknown): void {
    this.#parts.log.error('partition:turn', 'a turn failed and was not written', errorFacts(fault))
  }

  /** A command that makes its turn fail fails alone: the others are taken one by one. */
  #replies(batch: readonly Command[], watch: { opened(): void; written(): void }): readonly Reply[] {
    const { store, storage } = this.#parts
    try {
      const replies = takeTurn(this.#parts, batch, watch)
      storage.full(!store.hasRoom)
      return replies
    } catch (fault) {
      if (fault instanceof StorageFull) {
        storage.full(true)
        this.#fault(fault)
        return batch.map(() => ({ kind: 'failed', why: 'storageFull' }))
      }
      if (batch.length > 1) return batch.flatMap((command) => this.#replies([command], watch))
      this.#fault(fault)
      return [{ kind: 'failed', why: 'fault' }]
    }
  }

  #send(arrived: readonly Arrived[], replies: readonly Reply[], decided_ns: number, committed_ns: number): void {
    let at = 0
    for (const { port, commands } of arrived) {
      const own = arrived.length === 1 ? replies : replies.slice(at, at + commands.length)
      at += commands.length
      const receipt: Receipt = { replies: encodeReplies(own), decided_ns, committed_ns }
      port.postMessage(receipt)
    }
  }

  /**
   * Every command waited in the mailbox from its entry until it was taken. It waited for the write transaction only if
   * the turn before was still under way when it entered [management 5.3, 5.4].
   */
  #measure(arrived: readonly Arrived[], taken: bigint, opened: bigint): void {
    const { mailboxWait, transactionWait } = this.#parts
    for (const { letter, commands } of arrived) {
      for (const [index, entered] of (letter.entered ?? []).entries()) {
        if (entered === 0n) continue
        this.#waited(mailboxWait, 'wait.mailbox', taken - entered)
        if (commands[index]?.kind === 'ping') continue
        if (entered < this.#lastTurnEnd) this.#waited(transactionWait, 'wait.transaction', opened - entered)
        else if (transactionWait.on) transactionWait.free()
      }
    }
  }

  /** Waits are traced also while their statistics are off [management 2.5]. */
  #waited(meter: WaitMeter, area: 'wait.mailbox' | 'wait.transaction', wait: bigint): void {
    if (meter.on) meter.waited(wait)
    const { log } = this.#parts
    if (log.traces[traceArea[area]] === 1) log.trace(area, `waited ${secondsText(wait)} s`, { wait_ns: String(wait) })
  }
}
