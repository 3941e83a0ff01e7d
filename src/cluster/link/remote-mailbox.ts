import type { LostBatch, Posted } from '../../partition/mailbox/batch.js'
import { BoundedMailbox, type BoundedMailboxSettings } from '../../partition/mailbox/bounded-mailbox.js'
import type { Command } from '../../partition/turn/commands.js'
import { err, type Result } from '../../result.js'
import type { Waits } from '../../threads/shared-memory/permit-loans.js'
import type { BatchRoute } from './batch-route.js'
import { again_ms, type Entry, emptyQueue, type QueueEffect, type QueueEvent, queueStep } from './remote-queue.js'

/** The owners of the partitions as far as they are known here. All look-ups are cheap. */
export interface NodeRoutes {
  /** The name of a node; undefined while no owner is known. */
  ownerOf(partition: number): string | undefined
  /** Calls back after each change, until the function that it gives is called. */
  watch(changed: () => void): () => void
}

export interface RemoteMailboxSettings extends BoundedMailboxSettings {
  readonly partition: number
  readonly routes: NodeRoutes
  /** Opens a route to the partition on a node, this one or another; undefined when that node is no member. */
  readonly open: (node: string) => BatchRoute | undefined
  /** How long a command waits for its reply, or for a node to send it to. */
  readonly patience_ms: number
  /** The commands in it that have no reply, see `PermitLoans`. */
  readonly waits: Waits
}

interface OpenCommand {
  readonly command: Command
  readonly resolve: (result: Result<Posted, LostBatch>) => void
}

/**
 * A front end's mailbox for a partition that may move between nodes: ordered and bounded, as `Mailbox` is. Commands go to the
 * owner. Those that come back because the node is not the owner go to the next owner, in order and before newer ones; those with
 * an unknown outcome are never sent again. `queueStep` decides all of this.
 */
export class RemoteMailbox extends BoundedMailbox {
  readonly #settings: RemoteMailboxSettings
  #queue = emptyQueue
  /** Commands without a response, by entry number: in the queue, or still gathering. */
  readonly #commands = new Map<number, OpenCommand>()
  #gathering: Entry[] = []
  readonly #routes = new Map<number, BatchRoute>()
  /** Events that came while another one was processed. */
  readonly #events: QueueEvent[] = []
  #isTaking = false
  #entries = 0
  #isClosed = false
  readonly #timer: NodeJS.Timeout
  readonly #stopWatching: () => void

  constructor(settings: RemoteMailboxSettings) {
    super(settings)
    this.#settings = settings
    const { patience_ms, routes } = settings
    this.#timer = setInterval(() => this.#take({ kind: 'looked' }), Math.min(patience_ms / 10, again_ms))
    this.#timer.unref()
    this.#stopWatching = routes.watch(() => this.#take({ kind: 'routed' }))
  }

  /** Puts in a command with reserved room; resolves with the owner's reply once it is durable. */
  put(command: Command): Promise<Result<Posted, LostBatch>> {
    if (this.#isClosed || !this.#settings.waits.begin()) {
      this.release(1)
      return Promise.resolve(err({ kind: 'partitionLost' }))
    }
    return new Promise((resolve) => {
      this.#entries += 1
      this.#commands.set(this.#entries, { command, resolve })
      const until_ms = performance.now() + this.#settings.patience_ms
      this.#gathering.push({ number: this.#entries, until_ms, sentOn: 0 })
      this.sendSoon()
    })
  }

  /** Sends what has gathered, for callers that keep the event loop busy for long. */
  catchUp(): void {
    this.send()
  }

  protected get isOpen(): boolean {
    return !this.#isClosed
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#stopWatching()
    this.#take({ kind: 'closed' })
  }

  protected send(): void {
    if (this.#gathering.length > 0) this.#take({ kind: 'looked' })
  }

  /** Gathered commands go before every other event, so that all of them are in the queue. */
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
    for (const effect of effects) this.#do(effect, event.kind === 'outcomes')
  }

  #do(effect: QueueEffect, isAnswered: boolean): void {
    switch (effect.kind) {
      case 'open':
        this.#open(effect.route, effect.to)
        break
      case 'send':
        this.#sendBatch(effect)
        break
      case 'close':
        this.#routes.get(effect.route)?.close()
        this.#routes.delete(effect.route)
        break
      case 'reply':
        this.#commands.get(effect.entry)?.resolve(effect.result)
        this.#commands.delete(effect.entry)
        this.#settings.waits.end(isAnswered)
        this.release(1)
    }
  }

  #open(number: number, to: string): void {
    const route = this.#settings.open(to)
    if (route === undefined) {
      this.#take({ kind: 'notOpened', route: number })
      return
    }
    this.#routes.set(number, route)
    const { batchesMost } = route
    void route.opened.then((opened) =>
      this.#take(
        opened.ok
          ? { kind: 'opened', route: number, batchesMost, epoch: opened.value.epoch }
          : { kind: 'notOpened', route: number },
      ),
    )
  }

  #sendBatch({ route, batch, entries }: Extract<QueueEffect, { kind: 'send' }>): void {
    const [oldest] = entries
    const opened = this.#routes.get(route)
    if (opened === undefined || oldest === undefined) throw new Error('a batch has no route, or no commands')
    const commands = entries.flatMap(({ number }) => this.#commands.get(number)?.command ?? [])
    opened.send(commands, oldest.until_ms, (part) => this.#take({ kind: 'outcomes', route, batch, ...part }))
  }
}
