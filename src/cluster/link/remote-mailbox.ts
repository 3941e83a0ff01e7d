import type { LostBatch, MailboxRefusal, PartitionMailbox, Posted } from '../../partition/mailbox/mailbox.js'
import type { Command } from '../../partition/turn/commands.js'
import { err, type Result } from '../../result.js'
import type { MailboxCapacity } from '../../threads/shared-memory/limits.js'
import type { BatchRoute } from './batch-route.js'
import { again_ms, type Entry, emptyQueue, type QueueEffect, type QueueEvent, queueStep } from './remote-queue.js'

/** Who owns the partitions, as far as is known here. Every look is cheap. */
export interface NodeRoutes {
  /** The name of a node; nothing while nobody is known to own it. */
  ownerOf(partition: number): string | undefined
  /** Calls back after each change, until the function that it gives is called. */
  watch(changed: () => void): () => void
}

export interface RemoteMailboxSettings {
  readonly partition: number
  readonly routes: NodeRoutes
  /** Opens a way to the partition on a node, this one or another; nothing when that node is not there. */
  readonly open: (node: string) => BatchRoute | undefined
  /** How many commands may be in the mailboxes of all front ends together, under way ones included. */
  readonly room: MailboxCapacity
  /** How long a command waits for its reply, or for a node to send it to. */
  readonly patience_ms: number
  /** Hears how many commands are in the mailbox, or have room in it, whenever that changes. */
  readonly depth: (commands: number) => void
}

interface Asked {
  readonly command: Command
  readonly resolve: (result: Result<Posted, LostBatch>) => void
}

/**
 * A front end's side of the queue before a partition that has moved, or may move, between nodes: ordered and bounded, as
 * `Mailbox` is. Commands go to the owner. Those that come back since it is not the owner any more go to the next one, in their
 * order and before newer ones; those whose outcome is not known are never sent again. What it does when is said by `queueStep`.
 */
export class RemoteMailbox implements PartitionMailbox {
  readonly #settings: RemoteMailboxSettings
  #queue = emptyQueue
  /** What is not answered yet, by the numbers of the entries; in the queue, or among those that gather. */
  readonly #asked = new Map<number, Asked>()
  #gathering: Entry[] = []
  readonly #ways = new Map<number, BatchRoute>()
  /** Events that came while another one was taken. */
  readonly #events: QueueEvent[] = []
  #isTaking = false
  /** Commands that have room, whether they were put in already or not. */
  #count = 0
  #entries = 0
  #sendingSoon = false
  #isClosed = false
  #ping: Promise<Result<Posted, LostBatch>> | undefined
  readonly #whenEmpty: (() => void)[] = []
  readonly #timer: NodeJS.Timeout
  readonly #stopWatching: () => void

  constructor(settings: RemoteMailboxSettings) {
    this.#settings = settings
    const { patience_ms, routes } = settings
    this.#timer = setInterval(() => this.#take({ kind: 'looked' }), Math.min(patience_ms / 10, again_ms))
    this.#timer.unref()
    this.#stopWatching = routes.watch(() => this.#take({ kind: 'routed' }))
  }

  /** Takes room for commands of one request, which are then put in, or given up with `release`. */
  reserve(commands: number): MailboxRefusal | undefined {
    if (this.#isClosed) return { kind: 'partitionLost' }
    if (!this.#settings.room.take(commands)) return { kind: 'mailboxFull' }
    this.#changed(commands)
    return undefined
  }

  /** Gives up room that was reserved and not used. */
  release(commands: number): void {
    this.#settings.room.release(commands)
    this.#changed(-commands)
  }

  /** Puts a command in that has room, and gives the reply of the partition's owner once it cannot be lost. */
  put(command: Command): Promise<Result<Posted, LostBatch>> {
    if (this.#isClosed) {
      this.release(1)
      return Promise.resolve(err({ kind: 'partitionLost' }))
    }
    return new Promise((resolve) => {
      this.#entries += 1
      this.#asked.set(this.#entries, { command, resolve })
      const until_ms = performance.now() + this.#settings.patience_ms
      this.#gathering.push({ number: this.#entries, until_ms, sentOn: 0 })
      this.#sendSoon()
    })
  }

  /** Puts a command in and gives the reply of the partition's owner once it cannot be lost. Refuses when full. */
  ask(command: Command): Promise<Result<Posted, MailboxRefusal>> {
    const refusal = this.reserve(1)
    return refusal ? Promise.resolve(err(refusal)) : this.put(command)
  }

  /** Asks for a sign of life, which needs no room: whoever asks while one is under way shares its reply. */
  ping(): Promise<Result<Posted, LostBatch>> {
    if (this.#ping === undefined) {
      this.#settings.room.force(1)
      this.#changed(1)
      this.#ping = this.put({ kind: 'ping' }).finally(() => {
        this.#ping = undefined
      })
    }
    return this.#ping
  }

  /** Sends what has gathered: for who keeps the event loop from coming round for long. */
  catchUp(): void {
    this.#sendGathered()
  }

  /** Resolves when nothing waits and nothing is under way. */
  empty(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenEmpty.push(resolve))
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#stopWatching()
    this.#take({ kind: 'closed' })
  }

  #sendSoon(): void {
    if (this.#sendingSoon) return
    this.#sendingSoon = true
    setImmediate(() => {
      this.#sendingSoon = false
      this.#sendGathered()
    })
  }

  #sendGathered(): void {
    if (this.#gathering.length > 0) this.#take({ kind: 'looked' })
  }

  /** What gathers goes before every other event, so that all of it is in the queue. */
  #take(event: QueueEvent): void {
    if (this.#gathering.length > 0) this.#events.push({ kind: 'put', entries: this.#gathering.splice(0) })
    this.#events.push(event)
    if (this.#isTaking) return
    this.#isTaking = true
    for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) this.#step(next)
    this.#isTaking = false
  }

  #step(event: QueueEvent): void {
    const { partition, routes, patience_ms } = this.#settings
    const moment = { now_ms: performance.now(), owner: routes.ownerOf(partition), patience_ms }
    const [queue, effects] = queueStep(this.#queue, event, moment)
    this.#queue = queue
    for (const effect of effects) this.#do(effect)
  }

  #do(effect: QueueEffect): void {
    switch (effect.kind) {
      case 'open':
        this.#open(effect.way, effect.to)
        break
      case 'send':
        this.#send(effect)
        break
      case 'close':
        this.#ways.get(effect.way)?.close()
        this.#ways.delete(effect.way)
        break
      case 'answer':
        this.#asked.get(effect.entry)?.resolve(effect.result)
        this.#asked.delete(effect.entry)
        this.release(1)
    }
  }

  #open(way: number, to: string): void {
    const route = this.#settings.open(to)
    if (route === undefined) {
      this.#take({ kind: 'notOpened', way })
      return
    }
    this.#ways.set(way, route)
    const { batchesMost } = route
    void route.opened.then((opened) =>
      this.#take(
        opened.ok ? { kind: 'opened', way, batchesMost, epoch: opened.value.epoch } : { kind: 'notOpened', way },
      ),
    )
  }

  #send({ way, batch, entries }: Extract<QueueEffect, { kind: 'send' }>): void {
    const [oldest] = entries
    const route = this.#ways.get(way)
    if (route === undefined || oldest === undefined) throw new Error('a batch has no way, or no commands')
    const commands = entries.flatMap(({ number }) => this.#asked.get(number)?.command ?? [])
    route.send(commands, oldest.until_ms, (part) => this.#take({ kind: 'outcomes', way, batch, ...part }))
  }

  #changed(by: number): void {
    this.#count += by
    this.#settings.depth(this.#count)
    if (this.#count > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }
}
