import { type CoordinatorService, parseControlRequest, parseMarkRequest } from '../broker/shared-control.js'
import type { LogName } from '../cluster/engine.js'
import type { Command } from '../partition/commands.js'
import type { SenderTable } from '../shared-memory/sender-table.js'
import type { LogSequence } from '../wal/record-log.js'
import type { CommandOutcome } from './batch-route.js'
import { outcomesBody, parseCommandsBody } from './command-batch.js'
import { ConnectionBatches } from './connection-batches.js'
import { parsePositionsQuestion, parseSender } from './link-protocol.js'

/** What a node does for others. */
export interface LinkServices {
  /** How many partitions there are. */
  readonly partitions: number
  /** Of all front ends of this node. */
  readonly senders: SenderTable
  /** Puts commands into the mailbox of a partition, in this order and before it returns. */
  take(partition: number, commands: readonly Command[]): Promise<readonly CommandOutcome[]>
  /** The node that owns a partition as far as is known here. */
  ownerOf(partition: number): string | undefined
  /** The last acknowledged sequences of logs, in their order; nothing where this node may not confirm. */
  positions(logs: readonly LogName[]): readonly (LogSequence | undefined)[]
  /** What the coordinator owns. */
  readonly control: CoordinatorService
}

/** Of an answer with status 200 the bytes, of another one what is wrong. */
export interface LinkAnswer {
  readonly status: number
  readonly text?: string
  readonly bytes?: Buffer
}

/** What is remembered of a connection. */
export interface LinkConnection {
  /** What its batches have in common, once the first one has come. */
  batches: ConnectionBatches | undefined
}

/** Answers the requests of other nodes. */
export class LinkRequests {
  readonly #services: LinkServices

  constructor(services: LinkServices) {
    this.#services = services
  }

  /**
   * Has commands carried out, those of one connection in the order in which this was called. All batches of a connection are
   * for one partition and of one sender. Resolves when all commands have an outcome.
   */
  async batch(connection: LinkConnection, partition: number, sender: unknown, body: Buffer): Promise<LinkAnswer> {
    const { partitions, senders } = this.#services
    const name = parseSender(sender)
    if (partition >= partitions) return { status: 404, text: `there is no partition ${partition}` }
    if (name === undefined) return { status: 400, text: 'the sender of the batch is not named' }
    const commands = parseCommandsBody(body)
    if (!commands.ok) return { status: 400, text: `the body is no batch of commands: ${commands.error.what}` }
    connection.batches ??= new ConnectionBatches(senders, partition, name)
    const { batches } = connection
    if (!batches.isOf(partition, name)) return { status: 400, text: 'the connection has batches of another sender' }
    if (!batches.isReady) await batches.ready
    if (batches.isLost) return this.#elsewhere(partition)
    if (!batches.begin()) return { status: 409, bytes: Buffer.from(JSON.stringify({ last: batches.last })) }
    try {
      const outcomes = await this.#services.take(partition, commands.value)
      const unowned = outcomes.filter((outcome) => !outcome.ok && outcome.error.kind === 'notOwner').length
      if (unowned > 0) batches.isLost = true
      return unowned === outcomes.length ? this.#elsewhere(partition) : { status: 200, bytes: outcomesBody(outcomes) }
    } finally {
      batches.end()
    }
  }

  /** The last acknowledged sequences that this node may confirm now. */
  positions(body: Buffer): LinkAnswer {
    const partitions = parsePositionsQuestion(body.toString())
    if (partitions === undefined) return { status: 400, text: 'the body is no list of partitions' }
    const positions = this.#services.positions(partitions).map((position) => position ?? null)
    return { status: 200, bytes: Buffer.from(JSON.stringify({ positions })) }
  }

  /** Has a change of what the coordinator owns carried out, if this node coordinates. */
  async control(body: Buffer): Promise<LinkAnswer> {
    const request = parseControlRequest(body.toString())
    if (request === undefined) return { status: 400, text: 'the body is no change that a coordinator carries out' }
    const taken = await this.#services.control.take(request)
    const answer = taken.ok ? taken.value : { owner: taken.error.owner ?? null }
    return { status: taken.ok ? 200 : 421, bytes: Buffer.from(JSON.stringify(answer)) }
  }

  /** Has the partitions of this node marked with a record of the coordinator's log. */
  async marks(body: Buffer): Promise<LinkAnswer> {
    const control = parseMarkRequest(body.toString())
    if (control === undefined) return { status: 400, text: 'the body names no record' }
    const marks = await this.#services.control.mark(control)
    return { status: 200, bytes: Buffer.from(JSON.stringify({ marks: marks ?? null })) }
  }

  #elsewhere(partition: number): LinkAnswer {
    const owner = this.#services.ownerOf(partition)
    return { status: 421, bytes: Buffer.from(JSON.stringify({ owner: owner ?? null })) }
  }
}
