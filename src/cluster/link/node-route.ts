import type { Log } from '../../observe/log/log.js'
import type { MailboxRefusal, Posted } from '../../partition/mailbox/batch.js'
import type { Command, FailedReply } from '../../partition/turn/commands.js'
import { err, ok } from '../../result.js'
import type { FencingToken } from '../../threads/shared-memory/partition-position.js'
import {
  type BatchRoute,
  type CommandOutcome,
  type OutcomePart,
  OutcomeParts,
  type SentOutcome,
} from './batch-route.js'
import { malformed } from './byte-frame.js'
import { commandsBody, parseLaterOutcomesBody, parseOutcomesBody } from './command-batch.js'
import { DeferredBatches } from './deferred-batches.js'
import { batchesPipelined, batchMost_bytes, linkHeaders, parseEpoch, parseLast, parseOwner } from './link-protocol.js'
import type { LinkResponse, NodeConnection } from './node-connection.js'
import { RemoteClock } from './remote-clock.js'

export interface NodeRouteParts {
  readonly partition: number
  /** Used by this route only. */
  readonly connection: NodeConnection
  readonly log: Log
  /** The other node knows a later connection of this sender, of this generation. */
  readonly overtaken: (generation: number) => void
}

const nothing = Buffer.from('{}')

/**
 * A route to a partition on another node: a connection of its own with pipelined batches. The first response gives the other node's
 * clock, by which batches name the time at which their sender stops waiting. Outcomes of deferred commands are asked for on the
 * same connection, by one request at a time, see `LaterOutcomes`.
 */
export class NodeRoute implements BatchRoute {
  readonly batchesMost = batchesPipelined
  readonly opened: BatchRoute['opened']
  readonly #parts: NodeRouteParts
  /** A refusal was logged; later ones on this connection are the same. */
  #isRefused = false
  readonly #clock = new RemoteClock()
  readonly #deferred = new DeferredBatches(() => this.#askLater())

  constructor(parts: NodeRouteParts) {
    this.#parts = parts
    this.opened = this.#open()
  }

  send(commands: readonly Command[], until_ms: number, take: (part: OutcomePart) => void): void {
    const body = commandsBody(commands)
    if (body.length > batchMost_bytes) {
      this.#inHalves(commands, until_ms, take)
      return
    }
    const until = this.#clock.at(until_ms)
    if (until === undefined) throw new Error('a batch is sent on a route that is not opened')
    const { connection, partition } = this.#parts
    void connection
      .ask({ kind: 'batches', partition }, body, [linkHeaders.until, String(until)])
      .then((response) => this.#answered(commands.length, this.#heard(response), take))
  }

  close(): void {
    this.#parts.connection.close()
  }

  async #open(): BatchRoute['opened'] {
    const { connection, partition } = this.#parts
    const response = this.#heard(await connection.ask({ kind: 'opening', partition }, nothing))
    if (response.kind !== 'answered') return err({ kind: 'unsent' })
    const epoch = response.status === 200 ? parseEpoch(response.bytes.toString()) : undefined
    if (epoch !== undefined && this.#clock.isKnown) return ok({ epoch })
    this.#logRefusal(response)
    return err({ kind: 'refused' })
  }

  #heard(response: LinkResponse): LinkResponse {
    const { status, clock_ms } = response.kind === 'answered' ? response : { status: 0, clock_ms: undefined }
    if (status === 200 && clock_ms !== undefined) this.#clock.heard(clock_ms)
    return response
  }

  #inHalves(commands: readonly Command[], until_ms: number, take: (part: OutcomePart) => void): void {
    if (commands.length === 1) {
      take({ outcomes: [failed('recordTooLarge')] })
      return
    }
    const half = Math.floor(commands.length / 2)
    const placed =
      (from: number) =>
      ({ outcomes, at }: OutcomePart): void =>
        take({ outcomes, at: outcomes.map((_, index) => from + (at === undefined ? index : (at[index] ?? index))) })
    this.send(commands.slice(0, half), until_ms, placed(0))
    this.send(commands.slice(half), until_ms, placed(half))
  }

  #answered(commands: number, response: LinkResponse, take: (part: OutcomePart) => void): void {
    const bytes = response.kind === 'answered' && response.status === 200 ? response.bytes : undefined
    const first = bytes && parseOutcomesBody(bytes, commands)
    if (first === undefined || !first.ok) {
      const outcome = first === undefined ? this.#outcomeOf(response) : this.#unread(first.error.what)
      take({ outcomes: Array.from({ length: commands }, () => outcome) })
      return
    }
    const { outcomes, batch } = first.value
    if (batch === undefined) take({ outcomes: outcomes.filter((outcome) => outcome !== undefined) })
    else this.#deferred.begin(batch, outcomes, take)
  }

  #askLater(): void {
    const { connection, partition } = this.#parts
    void connection
      .ask({ kind: 'outcomes', partition }, nothing)
      .then((response) => this.#answeredLater(this.#heard(response)))
  }

  #answeredLater(response: LinkResponse): void {
    if (response.kind !== 'answered') {
      this.#deferred.lost()
      return
    }
    const { status, bytes } = response
    const later = status === 200 ? parseLaterOutcomesBody(bytes) : malformed(`it has status ${status}`)
    if (later.ok && this.#deferred.came(later.value)) return
    this.#unread(later.ok ? 'it has outcomes of what was not sent' : later.error.what)
    this.#deferred.lost()
  }

  #unread(what: string): SentOutcome {
    this.#warn(`its response cannot be read: ${what}`)
    this.#parts.connection.close()
    return err({ kind: 'unanswered' })
  }

  /** The outcome of each command of a batch whose response did not have status 200. */
  #outcomeOf(response: LinkResponse): SentOutcome {
    if (response.kind !== 'answered') return err({ kind: response.kind === 'broken' ? 'unanswered' : 'unsent' })
    switch (response.status) {
      case 421:
        return err({ kind: 'notOwner', owner: parseOwner(response.bytes.toString()) })
      case 503:
        return err({ kind: 'mailboxFull' })
      case 413:
        return failed('recordTooLarge')
      default:
        this.#logRefusal(response)
        return err({ kind: 'refused' })
    }
  }

  #logRefusal({ status, bytes }: Extract<LinkResponse, { kind: 'answered' }>): void {
    if (status === 409) this.#parts.overtaken(parseLast(bytes.toString()) ?? 0)
    if (!this.#isRefused) this.#warn(`it answers ${status}: ${bytes.toString('utf8', 0, 500)}`)
    this.#isRefused = true
  }

  #warn(what: string): void {
    const { log, partition } = this.#parts
    log.warn('cluster:link', `updates of partition ${partition} do not reach their node: ${what}`)
  }
}

interface LocalMailbox {
  reserve(commands: number): MailboxRefusal | undefined
  put(command: Command, until_ms: number, fencingToken?: FencingToken, deferred?: () => void): Promise<CommandOutcome>
}

/** The route to a partition in this process, bound to a fencing token if there is one. */
export class LocalRoute implements BatchRoute {
  readonly batchesMost = Number.POSITIVE_INFINITY
  readonly opened: BatchRoute['opened']
  readonly #mailbox: LocalMailbox
  readonly #fencingToken: FencingToken | undefined

  constructor(mailbox: LocalMailbox, fencingToken?: FencingToken) {
    this.#mailbox = mailbox
    this.#fencingToken = fencingToken
    this.opened = Promise.resolve(ok({ epoch: fencingToken?.epoch ?? 0 }))
  }

  /** When this returns, either all commands are in the mailbox or none. */
  send(commands: readonly Command[], until_ms: number, take: (part: OutcomePart) => void): void {
    putAll(this.#mailbox, commands, until_ms, this.#fencingToken, take)
  }

  /** The mailbox is shared with others. */
  close(): void {}
}

/**
 * Puts commands into a mailbox before it returns; none of them if there is no room for all. Gives their outcomes as
 * `BatchRoute.send` does.
 */
export function putAll(
  mailbox: LocalMailbox,
  commands: readonly Command[],
  until_ms: number,
  fencingToken: FencingToken | undefined,
  take: (part: OutcomePart<CommandOutcome>) => void,
): void {
  const full = mailbox.reserve(commands.length)
  if (full !== undefined) {
    take({ outcomes: commands.map(() => err(full)) })
    return
  }
  const parts = new OutcomeParts(commands.length, take)
  for (const [at, command] of commands.entries()) {
    void mailbox
      .put(command, until_ms, fencingToken, () => parts.deferred(at))
      .then(outcomeOf, () => failed('fault'))
      .then((outcome) => parts.came(at, outcome))
  }
}

function outcomeOf(outcome: CommandOutcome): CommandOutcome {
  if (!outcome.ok) return outcome
  const { reply } = outcome.value
  return reply.kind === 'failed' && reply.why === 'notOwner' ? err({ kind: 'notOwner', owner: undefined }) : outcome
}

function failed(why: FailedReply['why']): CommandOutcome {
  const posted: Posted = { reply: { kind: 'failed', why }, turn: { decided_ns: 0, committed_ns: 0 }, entered: 0n }
  return ok(posted)
}
