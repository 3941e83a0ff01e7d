import type { Log } from '../log/log.js'
import type { Posted } from '../mailbox/mailbox.js'
import type { Command, FailedReply } from '../partition/commands.js'
import { err, ok } from '../result.js'
import type { BatchRoute, CommandOutcome, CommandRefusal } from './batch-route.js'
import { commandsBody, parseOutcomesBody } from './command-batch.js'
import { batchesPipelined, batchMost_bytes, linkHeaders, parseLast, parseOwner } from './link-protocol.js'
import type { LinkResponse, NodeConnection } from './node-connection.js'
import { RemoteClock } from './remote-clock.js'

export interface NodeRouteParts {
  readonly partition: number
  /** Only this route uses it. */
  readonly connection: NodeConnection
  readonly log: Log
  /** Another node knows of a connection of this sender with that generation. */
  readonly overtaken: (generation: number) => void
}

const noPositions = Buffer.from(JSON.stringify({ partitions: [] }))

/**
 * The way to a partition on another node: a connection of its own, on which batches are pipelined. The first answer on it says
 * what the clock of the other node shows, by which batches say how long they are waited for.
 */
export class NodeRoute implements BatchRoute {
  readonly batchesMost = batchesPipelined
  readonly #parts: NodeRouteParts
  /** The other node has refused a request: it does not look at those that followed. */
  #isRefused = false
  readonly #clock = new RemoteClock()
  readonly #opened: Promise<LinkResponse>

  constructor(parts: NodeRouteParts) {
    this.#parts = parts
    this.#opened = parts.connection.ask({ kind: 'positions' }, noPositions).then((response) => this.#heard(response))
  }

  /** All wait for the first answer, in their order. */
  send(commands: readonly Command[], until_ms: number): Promise<readonly CommandOutcome[]> {
    const body = commandsBody(commands)
    if (body.length > batchMost_bytes) return this.#inHalves(commands, until_ms)
    return this.#opened.then(async (opened) => {
      const until = this.#clock.at(until_ms)
      if (until === undefined) return this.#unopened(commands.length, opened)
      const { connection, partition } = this.#parts
      const response = await connection.ask({ kind: 'batches', partition }, body, [linkHeaders.until, String(until)])
      return this.#outcomes(commands.length, this.#heard(response))
    })
  }

  close(): void {
    this.#parts.connection.close()
  }

  #heard(response: LinkResponse): LinkResponse {
    const { status, clock_ms } = response.kind === 'answered' ? response : { status: 0, clock_ms: undefined }
    if (status === 200 && clock_ms !== undefined) this.#clock.heard(clock_ms)
    return response
  }

  /** Nothing of the commands has left this node. */
  #unopened(commands: number, opened: LinkResponse): readonly CommandOutcome[] {
    if (opened.kind === 'answered') return this.#refused(opened.status, opened.bytes, commands)
    return Array.from({ length: commands }, () => refusal({ kind: 'unsent' }))
  }

  async #inHalves(commands: readonly Command[], until_ms: number): Promise<readonly CommandOutcome[]> {
    if (commands.length === 1) return [failed('recordTooLarge')]
    const half = commands.length / 2
    const sent = [this.send(commands.slice(0, half), until_ms), this.send(commands.slice(half), until_ms)]
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
  put(command: Command, until_ms: number): Promise<CommandOutcome>
}

/** The way to a partition in this process. */
export class LocalRoute implements BatchRoute {
  readonly batchesMost = Number.POSITIVE_INFINITY
  readonly #mailbox: LocalMailbox

  constructor(mailbox: LocalMailbox) {
    this.#mailbox = mailbox
  }

  /** The commands are in the mailbox when this returns, or none of them. */
  send(commands: readonly Command[], until_ms: number): Promise<readonly CommandOutcome[]> {
    const full = this.#mailbox.reserve(commands.length)
    if (full !== undefined) return Promise.resolve(commands.map(() => err(full)))
    return Promise.all(
      commands.map((command) => this.#mailbox.put(command, until_ms).then(outcomeOf, () => failed('fault'))),
    )
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
