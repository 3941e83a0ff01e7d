import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  type CoordinatorService,
  parseCoordinatorRequest,
  parseHeartbeatRequest,
} from '../../broker/front-end/coordinator-requests.js'
import type { SnapshotTransferService } from '../../broker/front-end/services.js'
import type { StreamingCourier } from '../../delivery/streams/stream-message.js'
import { faultText } from '../../faults.js'
import type { Log } from '../../observe/log/log.js'
import type { NodeStatistics } from '../../observe/measure/node-statistics.js'
import type { Command } from '../../partition/turn/commands.js'
import type { LogName } from '../../storage/etcd/engine.js'
import type { PinnedCommit } from '../../storage/records/store.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import type { FencingToken } from '../../threads/shared-memory/partition-position.js'
import type { SenderTable } from '../../threads/shared-memory/sender-table.js'
import type { CommandOutcome, OutcomePart } from './batch-route.js'
import { checkpointPieces } from './checkpoint-pieces.js'
import { laterOutcomesBody, outcomesBody, type PlacedOutcome, parseCommandsBody } from './command-batch.js'
import { ConnectionBatches, type ConnectionRefusal, type PartitionSender } from './connection-batches.js'
import { BatchResponses, type FirstResponse, isUnowned, type LaterOutcomes } from './later-outcomes.js'
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

/** What a node does for other nodes. */
export interface LinkServices {
  readonly partitions: number
  /** Shared by all front ends of this node. */
  readonly senders: SenderTable
  /** The current fencing token of a partition. */
  fencingTokenOf(partition: number): FencingToken
  /**
   * Puts commands into the mailbox of a partition, in this order and before it returns; refuses them if its fencing token is
   * another one. Outcomes come as in `BatchRoute.send`.
   */
  take(
    partition: number,
    commands: readonly Command[],
    until_ms: number,
    fencingToken: FencingToken,
    take: (part: OutcomePart<CommandOutcome>) => void,
  ): void
  /** The owner of a partition as far as is known here. */
  ownerOf(partition: number): string | undefined
  /** The appliedIndex of each log; undefined where this node may not confirm. */
  positions(logs: readonly LogName[]): readonly (LogSequence | undefined)[]
  /** The clock of the day, in ms of Unix time. */
  clock(): number
  readonly coordinator: CoordinatorService
  /** Pins commits of environments while their files are sent. */
  readonly transfers: SnapshotTransferService
  /** The streams of this node's courier. */
  readonly listening: StreamingCourier
  statistics(): NodeStatistics
}

/** A response; the body of one with a status other than 200 says what is wrong. */
export interface ListenerResponse {
  readonly status: number
  readonly text?: string
  readonly bytes?: Buffer
  /** When later parts follow: resolves when all of them are sent, or never will be. */
  readonly over?: Promise<void>
}

/** What is kept per connection. */
export interface LinkConnection {
  /** Set when a connection with batches is opened. */
  batches: ConnectionBatches | undefined
  readonly later: LaterOutcomes
}

type LinkHeaders = Readonly<Record<string, unknown>>

/** The least average rate of a node that fetches a file, after a first minute: a pinned commit makes the file grow. */
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

  /** Opens a connection for batches: when this is answered, what the sender has sent earlier is carried out or never will be. */
  async opening(connection: LinkConnection, partition: number, headers: LinkHeaders): Promise<ListenerResponse> {
    const sender = this.#senderOf(partition, headers)
    if ('status' in sender) return sender
    const opened = await this.#batchesOf(connection).open(sender)
    if (!opened.ok) return this.#refusal(partition, opened.error)
    return { status: 200, bytes: Buffer.from(JSON.stringify({ epoch: opened.value })) }
  }

  /**
   * Has commands carried out; those of one connection in the order of the calls. All batches of a connection have one partition
   * and one sender. Resolves when all commands that are not deferred have an outcome.
   */
  async batch(
    connection: LinkConnection,
    partition: number,
    headers: LinkHeaders,
    body: Buffer,
  ): Promise<ListenerResponse> {
    const sender = this.#senderOf(partition, headers)
    if ('status' in sender) return sender
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
    const fencingToken = batches.begin(sender)
    if (!fencingToken.ok) return this.#refusal(partition, fencingToken.error)
    try {
      return await this.#taken(connection, sender, commands.value, fromClock(until), fencingToken.value)
    } catch (fault) {
      batches.end(sender)
      throw fault
    }
  }

  #taken(
    connection: LinkConnection,
    sender: PartitionSender,
    commands: readonly Command[],
    until_ms: number,
    fencingToken: FencingToken,
  ): Promise<ListenerResponse> {
    const { partition } = sender
    return new Promise((resolve) => {
      const first = ({ outcomes, batch, over }: FirstResponse): void => {
        if (outcomes.every(isUnowned)) resolve(this.#elsewhere(partition))
        else resolve({ status: 200, bytes: outcomesBody(outcomes, batch), ...(over && { over }) })
      }
      const responses = new BatchResponses(
        this.#batchesOf(connection),
        connection.later,
        sender,
        commands.length,
        first,
      )
      this.#services.take(partition, commands, until_ms, fencingToken, (part) => responses.came(part))
    })
  }

  /**
   * The outcomes of deferred commands. Resolves when there are some; with none after a long wait or when another request arrives.
   */
  async laterOutcomes({ later }: LinkConnection): Promise<ListenerResponse> {
    const limit = setTimeout(() => later.yield(), outcomesWait_ms)
    const outcomes = await new Promise<readonly PlacedOutcome[]>((resolve) => later.ask(resolve))
    clearTimeout(limit)
    return { status: 200, bytes: laterOutcomesBody(outcomes) }
  }

  /** The appliedIndex of logs that this node may confirm now. */
  positions(body: Buffer): ListenerResponse {
    const partitions = parsePositionsQuestion(body.toString())
    if (partitions === undefined) return { status: 400, text: 'the body is no list of partitions' }
    const positions = this.#services.positions(partitions).map((position) => position ?? null)
    return { status: 200, bytes: Buffer.from(JSON.stringify({ positions })) }
  }

  /** Its name tells that a process runs as this node. */
  clock(node: string): ListenerResponse {
    return { status: 200, bytes: Buffer.from(JSON.stringify({ time_ms: this.#services.clock(), node })) }
  }

  /** A client of another node has received notices of a subscription. */
  async confirmation(body: Buffer): Promise<ListenerResponse> {
    const confirmation = parseConfirmation(body.toString())
    if (confirmation === undefined) return { status: 400, text: 'the body says of no subscription what has arrived' }
    const confirmed = await this.#services.listening.confirm(confirmation.subscription, confirmation.upTo)
    if (!confirmed.ok) return { status: 503, text: 'the courier of this node is being replaced' }
    return { status: 200, bytes: Buffer.from(JSON.stringify({ isKnown: confirmed.value })) }
  }

  /** Streams the notices that this node sends for a subscription to a client of another node. */
  async sendStream(body: Buffer, outgoing: ServerResponse): Promise<void> {
    const request = parseStreamRequest(body.toString())
    if (request === undefined) outgoing.writeHead(400, { 'Content-Length': 0 }).end()
    else await relayStream(this.#services.listening, request, outgoing)
  }

  statistics(): ListenerResponse {
    return { status: 200, bytes: Buffer.from(JSON.stringify(this.#services.statistics())) }
  }

  /** Has a change of the metadata carried out if this node coordinates. */
  async changeMetadata(body: Buffer): Promise<ListenerResponse> {
    const request = parseCoordinatorRequest(body.toString())
    if (request === undefined) return { status: 400, text: 'the body is no change that a coordinator carries out' }
    const taken = await this.#services.coordinator.take(request)
    const response = taken.ok ? taken.value : { owner: taken.error.owner ?? null }
    return { status: taken.ok ? 200 : 421, bytes: Buffer.from(JSON.stringify(response)) }
  }

  /** Writes heartbeat records into this node's partitions once a record of the metadata log is in force. */
  async heartbeats(body: Buffer): Promise<ListenerResponse> {
    const metadataVersion = parseHeartbeatRequest(body.toString())
    if (metadataVersion === undefined) return { status: 400, text: 'the body names no record' }
    const heartbeats = await this.#services.coordinator.heartbeat(metadataVersion)
    return { status: 200, bytes: Buffer.from(JSON.stringify({ heartbeats: heartbeats ?? null })) }
  }

  /**
   * Sends the file of the environment that follows a log, as of its last commit. Resolves when it is sent or the receiver is
   * gone.
   */
  async sendCheckpoint(log: LogName, outgoing: ServerResponse): Promise<void> {
    const { transfers } = this.#services
    const kept = await transfers.beginTransfer(log)
    if (kept === undefined) {
      outgoing.writeHead(404, { 'Content-Length': 0 }).end()
      return
    }
    // When the receiver is gone, the read ahead may still complete.
    let ended: Promise<boolean> | undefined
    const letGo = (): Promise<boolean> => {
      ended ??= transfers.endTransfer(log)
      return ended
    }
    try {
      await sendKept(kept, letGo, outgoing)
    } catch (fault) {
      outgoing.destroy()
      this.#log.warn(
        'cluster:link',
        `the transfer of a snapshot of log ${log} to another node was given up: ${faultText(fault)}`,
      )
    } finally {
      await letGo()
    }
  }

  /** The sender of batches; a response when the headers do not name one or there is no such partition. */
  #senderOf(partition: number, headers: LinkHeaders): PartitionSender | ListenerResponse {
    const name = parseSender(headers[linkHeaders.sender])
    if (partition >= this.#services.partitions) return { status: 404, text: `there is no partition ${partition}` }
    if (name === undefined) return { status: 400, text: 'the sender of the batch is not named' }
    return { ...name, partition }
  }

  #batchesOf(connection: LinkConnection): ConnectionBatches {
    const { senders } = this.#services
    connection.batches ??= new ConnectionBatches(senders, (partition) => this.#services.fencingTokenOf(partition))
    return connection.batches
  }

  #refusal(partition: number, refusal: ConnectionRefusal): ListenerResponse {
    if (refusal.kind === 'notOwner') return this.#elsewhere(partition)
    if (refusal.kind === 'misused') return { status: 400, text: refusal.what }
    return { status: 409, bytes: Buffer.from(JSON.stringify({ last: refusal.last })) }
  }

  #elsewhere(partition: number): ListenerResponse {
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
