import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { CopyService } from '../../broker/services/services.js'
import { type CoordinatorService, parseControlRequest, parseMarkRequest } from '../../broker/services/shared-control.js'
import type { StreamSource } from '../../delivery/streams/stream-message.js'
import { faultText, type Log } from '../../observe/log/log.js'
import type { NodeStatistics } from '../../observe/measure/node-statistics.js'
import type { Command } from '../../partition/turn/commands.js'
import type { LogName } from '../../storage/etcd/engine.js'
import type { PinnedCommit } from '../../storage/records/store.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import type { Tenure } from '../../threads/shared-memory/partition-position.js'
import type { SenderTable } from '../../threads/shared-memory/sender-table.js'
import type { CommandOutcome, OutcomePart } from './batch-route.js'
import { checkpointPieces } from './checkpoint-pieces.js'
import { laterOutcomesBody, outcomesBody, type PlacedOutcome, parseCommandsBody } from './command-batch.js'
import { type BatchSource, ConnectionBatches, type ConnectionRefusal } from './connection-batches.js'
import { BatchAnswers, type FirstAnswer, isUnowned, type LaterOutcomes } from './later-outcomes.js'
import {
  checksum_bytes,
  linkHeaders,
  outcomesWait_ms,
  parseMoment,
  parsePositionsQuestion,
  parseSender,
} from './link-protocol.js'
import { fromClock } from './remote-clock.js'
import { parseConfirmation, parseStreamRequest, relayStream } from './stream-relay.js'

/** What a node does for others. */
export interface LinkServices {
  /** How many partitions there are. */
  readonly partitions: number
  /** Of all front ends of this node. */
  readonly senders: SenderTable
  /** The tenure that a partition is in now. */
  tenureOf(partition: number): Tenure
  /**
   * Puts commands into the mailbox of a partition, in this order and before it returns. See `BatchRoute.send`; in another tenure
   * they are refused.
   */
  take(
    partition: number,
    commands: readonly Command[],
    until_ms: number,
    tenure: Tenure,
    take: (part: OutcomePart<CommandOutcome>) => void,
  ): void
  /** The node that owns a partition as far as is known here. */
  ownerOf(partition: number): string | undefined
  /** The last acknowledged sequences of logs, in their order; nothing where this node may not confirm. */
  positions(logs: readonly LogName[]): readonly (LogSequence | undefined)[]
  /** The clock of the day, in ms of Unix time. */
  clock(): number
  /** What the coordinator owns. */
  readonly control: CoordinatorService
  /** Keeps commits of what follows logs while their files are sent. */
  readonly copies: CopyService
  /** The streams of the courier of this node. */
  readonly listening: StreamSource
  /** What this node has counted and measured. */
  statistics(): NodeStatistics
}

/** Of an answer with status 200 the bytes, of another one what is wrong. */
export interface LinkAnswer {
  readonly status: number
  readonly text?: string
  readonly bytes?: Buffer
  /** Of an answer that others follow: resolves when all of them are sent, or never will be. */
  readonly over?: Promise<void>
}

/** What is remembered of a connection. */
export interface LinkConnection {
  /** Of one with batches, once it is opened. */
  batches: ConnectionBatches | undefined
  readonly later: LaterOutcomes
}

type LinkHeaders = Readonly<Record<string, unknown>>

/** What a node that fetches a copy takes on average, after a first minute: while a commit is kept its file grows. */
const slowest_bytesPerSecond = 2 ** 20
const firstMinute_ms = 60_000

/** Answers the requests of other nodes. */
export class LinkRequests {
  readonly #services: LinkServices
  readonly #log: Log

  constructor(services: LinkServices, log: Log) {
    this.#services = services
    this.#log = log
  }

  /** Opens a connection for batches: what its sender has sent before is carried out when this is answered, or never will be. */
  async opening(connection: LinkConnection, partition: number, headers: LinkHeaders): Promise<LinkAnswer> {
    const source = this.#sourceOf(partition, headers)
    if ('status' in source) return source
    const opened = await this.#batchesOf(connection).open(source)
    if (!opened.ok) return this.#refusal(partition, opened.error)
    return { status: 200, bytes: Buffer.from(JSON.stringify({ epoch: opened.value })) }
  }

  /**
   * Has commands carried out, those of one connection in the order in which this was called. All batches of a connection are
   * for one partition and of one sender. Resolves when all commands that are not deferred have an outcome.
   */
  async batch(connection: LinkConnection, partition: number, headers: LinkHeaders, body: Buffer): Promise<LinkAnswer> {
    const source = this.#sourceOf(partition, headers)
    if ('status' in source) return source
    const batches = this.#batchesOf(connection)
    const until = parseMoment(headers[linkHeaders.until])
    if (until === undefined) {
      return this.#refusal(partition, batches.malformed('it is not said how long the batch is waited for'))
    }
    const commands = parseCommandsBody(body)
    if (!commands.ok) {
      const what = `the body is no batch of commands: ${commands.error.what}`
      return this.#refusal(partition, batches.malformed(what))
    }
    const tenure = batches.begin(source)
    if (!tenure.ok) return this.#refusal(partition, tenure.error)
    try {
      return await this.#taken(connection, source, commands.value, fromClock(until), tenure.value)
    } catch (fault) {
      batches.end(source)
      throw fault
    }
  }

  #taken(
    connection: LinkConnection,
    source: BatchSource,
    commands: readonly Command[],
    until_ms: number,
    tenure: Tenure,
  ): Promise<LinkAnswer> {
    const { partition } = source
    return new Promise((resolve) => {
      const first = ({ outcomes, batch, over }: FirstAnswer): void => {
        if (outcomes.every(isUnowned)) resolve(this.#elsewhere(partition))
        else resolve({ status: 200, bytes: outcomesBody(outcomes, batch), ...(over && { over }) })
      }
      const answers = new BatchAnswers(this.#batchesOf(connection), connection.later, source, commands.length, first)
      this.#services.take(partition, commands, until_ms, tenure, (part) => answers.came(part))
    })
  }

  /** Outcomes of commands that were deferred. Resolves when there are some, with none when it was waited for long or another request arrives. */
  async laterOutcomes({ later }: LinkConnection): Promise<LinkAnswer> {
    const limit = setTimeout(() => later.yield(), outcomesWait_ms)
    const outcomes = await new Promise<readonly PlacedOutcome[]>((resolve) => later.ask(resolve))
    clearTimeout(limit)
    return { status: 200, bytes: laterOutcomesBody(outcomes) }
  }

  /** The last acknowledged sequences that this node may confirm now. */
  positions(body: Buffer): LinkAnswer {
    const partitions = parsePositionsQuestion(body.toString())
    if (partitions === undefined) return { status: 400, text: 'the body is no list of partitions' }
    const positions = this.#services.positions(partitions).map((position) => position ?? null)
    return { status: 200, bytes: Buffer.from(JSON.stringify({ positions })) }
  }

  /** What the clock of this node says. */
  clock(): LinkAnswer {
    return { status: 200, bytes: Buffer.from(JSON.stringify({ time_ms: this.#services.clock() })) }
  }

  /** A client of another node has notices of a subscription. */
  async confirmation(body: Buffer): Promise<LinkAnswer> {
    const confirmation = parseConfirmation(body.toString())
    if (confirmation === undefined) return { status: 400, text: 'the body says of no subscription what has arrived' }
    const confirmed = await this.#services.listening.confirm(confirmation.subscription, confirmation.upTo)
    if (!confirmed.ok) return { status: 503, text: 'the courier of this node is being replaced' }
    return { status: 200, bytes: Buffer.from(JSON.stringify({ isKnown: confirmed.value })) }
  }

  /** The notices of a subscription that this node sends, for a client of another one. */
  async sendStream(body: Buffer, outgoing: ServerResponse): Promise<void> {
    const request = parseStreamRequest(body.toString())
    if (request === undefined) outgoing.writeHead(400, { 'Content-Length': 0 }).end()
    else await relayStream(this.#services.listening, request, outgoing)
  }

  statistics(): LinkAnswer {
    return { status: 200, bytes: Buffer.from(JSON.stringify(this.#services.statistics())) }
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

  /** The file of what follows a log, as it was at its last commit. Resolves when it is sent, or its receiver has gone. */
  async sendCheckpoint(log: LogName, outgoing: ServerResponse): Promise<void> {
    const { copies } = this.#services
    const kept = await copies.beginCopy(log)
    if (kept === undefined) {
      outgoing.writeHead(404, { 'Content-Length': 0 }).end()
      return
    }
    // What was read ahead may come to its end when the receiver has gone.
    let ended: Promise<boolean> | undefined
    const letGo = (): Promise<boolean> => {
      ended ??= copies.endCopy(log)
      return ended
    }
    try {
      await sendKept(kept, letGo, outgoing)
    } catch (fault) {
      outgoing.destroy()
      this.#log.warn('cluster:link', `a copy for log ${log} of another node was given up: ${faultText(fault)}`)
    } finally {
      await letGo()
    }
  }

  /** Where batches come from; an answer when it is not said, or they are for no partition. */
  #sourceOf(partition: number, headers: LinkHeaders): BatchSource | LinkAnswer {
    const name = parseSender(headers[linkHeaders.sender])
    if (partition >= this.#services.partitions) return { status: 404, text: `there is no partition ${partition}` }
    if (name === undefined) return { status: 400, text: 'the sender of the batch is not named' }
    return { ...name, partition }
  }

  #batchesOf(connection: LinkConnection): ConnectionBatches {
    const { senders } = this.#services
    connection.batches ??= new ConnectionBatches(senders, (partition) => this.#services.tenureOf(partition))
    return connection.batches
  }

  #refusal(partition: number, refusal: ConnectionRefusal): LinkAnswer {
    if (refusal.kind === 'notOwner') return this.#elsewhere(partition)
    if (refusal.kind === 'misused') return { status: 400, text: refusal.what }
    return { status: 409, bytes: Buffer.from(JSON.stringify({ last: refusal.last })) }
  }

  #elsewhere(partition: number): LinkAnswer {
    const owner = this.#services.ownerOf(partition)
    return { status: 421, bytes: Buffer.from(JSON.stringify({ owner: owner ?? null })) }
  }
}

function sendKept(
  { file, applied }: PinnedCommit,
  letGo: () => Promise<boolean>,
  outgoing: ServerResponse,
): Promise<void> {
  outgoing.writeHead(200, { 'Content-Length': file.bytes + checksum_bytes, [linkHeaders.applied]: applied })
  const signal = AbortSignal.timeout(firstMinute_ms + Math.ceil((file.bytes / slowest_bytesPerSecond) * 1000))
  return pipeline(Readable.from(checkpointPieces(file, letGo), { objectMode: false }), outgoing, { signal })
}
