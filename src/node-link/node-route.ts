import type { Log } from '../log/log.js'
import type { Posted } from '../mailbox/mailbox.js'
import type { Command, FailedReply } from '../partition/commands.js'
import { err, ok } from '../result.js'
import type { BatchRoute, CommandOutcome, CommandRefusal } from './batch-route.js'
import { commandsBody, parseOutcomesBody } from './command-batch.js'
import { batchesPipelined, batchMost_bytes, parseLast, parseOwner } from './link-protocol.js'
import type { LinkResponse, NodeConnection } from './node-connection.js'

export interface NodeRouteParts {
  readonly partition: number
  /** Only this route uses it. */
  readonly connection: NodeConnection
  readonly log: Log
  /** Another node knows of a connection of this sender with that generation. */
  readonly overtaken: (generation: number) => void
}

/** The way to a partition on another node: a connection of its own, on which batches are pipelined. */
export class NodeRoute implements BatchRoute {
  readonly batchesMost = batchesPipelined
  readonly #parts: NodeRouteParts
  /** The other node has refused a request: it does not look at those that followed. */
  #isRefused = false

  constructor(parts: NodeRouteParts) {
    this.#parts = parts
  }

  send(commands: readonly Command[]): Promise<readonly CommandOutcome[]> {
    const body = commandsBody(commands)
    if (body.length > batchMost_bytes) return this.#inHalves(commands)
    const { connection, partition } = this.#parts
    return connection
      .ask({ kind: 'batches', partition }, body)
      .then((response) => this.#outcomes(commands.length, response))
  }

  close(): void {
    this.#parts.connection.close()
  }

  async #inHalves(commands: readonly Command[]): Promise<readonly CommandOutcome[]> {
    if (commands.length === 1) return [failed('recordTooLarge')]
    const half = commands.length / 2
    const sent = [this.send(commands.slice(0, half)), this.send(commands.slice(half))]
    return (await Promise.all(sent)).flat()
  }

  #outcomes(commands: number, response: LinkResponse): readonly CommandOutcome[] {
    const all = (outcome: CommandOutcome): readonly CommandOutcome[] => Array.from({ length: commands }, () => outcome)
    if (response.kind !== 'answered') {
      const isDone = response.kind === 'broken' && !this.#isRefused
      return all(refusal(isDone ? { kind: 'outcomeUnknown' } : { kind: 'unsent' }))
    }
    const { status, bytes } = response
    switch (status) {
      case 200: {
        const outcomes = parseOutcomesBody(bytes, commands)
        if (outcomes.ok) return outcomes.value
        this.#said(`its answer cannot be read: ${outcomes.error.what}`)
        this.#parts.connection.close()
        return all(refusal({ kind: 'outcomeUnknown' }))
      }
      case 421:
        return all(refusal({ kind: 'notOwner', owner: parseOwner(bytes.toString()) }))
      case 409:
        this.#parts.overtaken(parseLast(bytes.toString()) ?? 0)
        return this.#refused(status, bytes, commands)
      case 503:
        return all(refusal({ kind: 'mailboxFull' }))
      case 413:
        return all(failed('recordTooLarge'))
      default:
        return this.#refused(status, bytes, commands)
    }
  }

  #refused(status: number, bytes: Buffer, commands: number): readonly CommandOutcome[] {
    if (!this.#isRefused) this.#said(`it answers ${status}: ${bytes.toString('utf8', 0, 500)}`)
    this.#isRefused = true
    return Array.from({ length: commands }, () => refusal({ kind: 'unsent' }))
  }

  #said(what: string): void {
    const { log, partition } = this.#parts
    log.warn('cluster:link', `updates of partition ${partition} do not reach their node: ${what}`)
  }
}

/** The mailbox of a partition in this process. */
interface LocalMailbox {
  reserve(commands: number): Exclude<CommandRefusal, { kind: 'notOwner' | 'unsent' }> | undefined
  put(command: Command): Promise<CommandOutcome>
}

/** The way to a partition in this process. */
export class LocalRoute implements BatchRoute {
  readonly batchesMost = Number.POSITIVE_INFINITY
  readonly #mailbox: LocalMailbox

  constructor(mailbox: LocalMailbox) {
    this.#mailbox = mailbox
  }

  /** The commands are in the mailbox when this returns, or none of them. */
  send(commands: readonly Command[]): Promise<readonly CommandOutcome[]> {
    const full = this.#mailbox.reserve(commands.length)
    if (full !== undefined) return Promise.resolve(commands.map(() => err(full)))
    return Promise.all(commands.map((command) => this.#mailbox.put(command).then(outcomeOf, () => failed('fault'))))
  }

  /** Its mailbox is not its own. */
  close(): void {}
}

function outcomeOf(outcome: CommandOutcome): CommandOutcome {
  if (!outcome.ok) return outcome
  const { reply } = outcome.value
  return reply.kind === 'failed' && reply.why === 'notOwner' ? refusal({ kind: 'notOwner', owner: undefined }) : outcome
}

function refusal(error: CommandRefusal): CommandOutcome {
  return err(error)
}

function failed(why: FailedReply['why']): CommandOutcome {
  const posted: Posted = { reply: { kind: 'failed', why }, turn: { decided_ns: 0, committed_ns: 0 }, entered: 0n }
  return ok(posted)
}
