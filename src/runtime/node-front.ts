import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ConfirmedPositions } from '../broker/front-end/confirmed-reads.js'
import type { CoordinatorService } from '../broker/front-end/coordinator-requests.js'
import type { SnapshotTransferService } from '../broker/front-end/services.js'
import type { BatchRoute, CommandOutcome, OutcomePart } from '../cluster/link/batch-route.js'
import type { LinkServices } from '../cluster/link/link-requests.js'
import { NodeLink } from '../cluster/link/node-link.js'
import { NodeListener, plainConnections } from '../cluster/link/node-listener.js'
import { LocalRoute, putAll } from '../cluster/link/node-route.js'
import { RemoteMailbox } from '../cluster/link/remote-mailbox.js'
import type { RouteTable } from '../cluster/membership/route-table.js'
import type { StreamingCourier } from '../delivery/streams/stream-message.js'
import { descriptorOf, type ListenRefusal, listen } from '../http/listen.js'
import type { Log } from '../observe/log/log.js'
import type { BoundedMailbox } from '../partition/mailbox/bounded-mailbox.js'
import type { Mailbox } from '../partition/mailbox/mailbox.js'
import type { Command } from '../partition/turn/commands.js'
import { err, ok, type Result } from '../result.js'
import type { LogName } from '../storage/etcd/engine.js'
import type { LogSequence } from '../storage/wal/record-log.js'
import { MailboxCapacity } from '../threads/shared-memory/limits.js'
import { type FencingToken, PartitionPosition } from '../threads/shared-memory/partition-position.js'
import type { PermitLoans } from '../threads/shared-memory/permit-loans.js'
import { SenderTable } from '../threads/shared-memory/sender-table.js'
import { type Nanoseconds, now } from '../time.js'
import { type FrontLink, numbered } from './tasks.js'

interface NodeFrontParts {
  readonly link: FrontLink
  readonly frontEnd: number
  readonly routes: RouteTable
  /** The mailboxes of the partitions' threads in this process, by partition number. */
  readonly mailboxes: readonly Mailbox[]
  /** Per partition, how far its log is applied on this node (`PartitionPosition`). */
  readonly positions: readonly SharedArrayBuffer[]
  /** How far the metadata log is applied on this node. */
  readonly metadataPosition: SharedArrayBuffer
  /** Serves changes of the metadata that other nodes send. */
  readonly coordinator: CoordinatorService
  readonly transfers: SnapshotTransferService
  readonly courier: StreamingCourier
  readonly listeners: number
  readonly statistics: LinkServices['statistics']
  /** The most commands that may wait for a partition. */
  readonly mailboxSize: number
  /** How long a command waits for its reply. */
  readonly patience_ms: number
  /** Lends the permits of requests that wait for a silent owner. */
  readonly loans: PermitLoans
  /** Called when another node has answered a batch, or will not answer it. */
  readonly answered: (duration: Nanoseconds) => void
  readonly log: Log
}

/** A front end of a node: sends updates to the owners of their partitions, and serves other nodes. */
export class NodeFront {
  readonly #link: NodeLink
  readonly #listener: NodeListener
  /** Whether another front end has opened the socket. */
  readonly #isShared: boolean
  /** The mailboxes for clients, one per partition, wherever its owner is. */
  readonly mailboxes: readonly BoundedMailbox[]

  /** Refuses when it cannot listen. */
  static async open(parts: NodeFrontParts): Promise<Result<NodeFront, ListenRefusal>> {
    const front = new NodeFront(parts)
    const refusal = await listen(front.#listener, parts.link.where, parts.log)
    if (refusal !== undefined) {
      await front.close()
      return err(refusal)
    }
    front.#listener.survivesErrors()
    return ok(front)
  }

  private constructor(parts: NodeFrontParts) {
    const { link, frontEnd, routes, mailboxes, mailboxSize, patience_ms, loans, transfers, log } = parts
    const { self, security, slot, where } = link
    this.#isShared = 'fd' in where
    this.#link = new NodeLink({
      ...{ self, security, slot, frontEnd, log },
      addressOf: (node) => routes.addressOf(node),
    })
    const positions = parts.positions.map((memory) => new PartitionPosition(memory))
    const fencingTokenOf = (partition: number) => numbered(positions, partition).fencingToken
    const open = (partition: number, node: string) =>
      node === self.node
        ? new LocalRoute(numbered(mailboxes, partition), fencingTokenOf(partition))
        : timed(this.#link.open(partition, node), parts.answered)
    this.mailboxes = mailboxes.map((_, partition) => {
      const room = new MailboxCapacity(mailboxSize)
      const settings = { partition, routes, room, patience_ms, waits: loans.newWaits(), depth: () => {} }
      return new RemoteMailbox({ ...settings, open: (node) => open(partition, node) })
    })
    const metadataPosition = new PartitionPosition(parts.metadataPosition)
    const services = {
      partitions: mailboxes.length,
      senders: new SenderTable(mailboxes.length, link.senders),
      fencingTokenOf,
      take: (
        partition: number,
        commands: readonly Command[],
        until_ms: number,
        fencingToken: FencingToken,
        take: (part: OutcomePart<CommandOutcome>) => void,
      ) => putAll(numbered(mailboxes, partition), commands, until_ms, fencingToken, take),
      ownerOf: (partition: number) => routes.ownerOf(partition),
      positions: (names: readonly LogName[]) =>
        names.map(
          (log) => (log === 'control' ? metadataPosition : positions[log])?.confirmedIndex as LogSequence | undefined,
        ),
      clock: now,
      coordinator: parts.coordinator,
      transfers,
      statistics: parts.statistics,
      listening: parts.courier,
    }
    const limits = { connections: plainConnections + parts.listeners }
    this.#listener = new NodeListener({ self, security, services, log, limits })
  }

  /** The descriptor of the socket for other nodes, which the other front ends share. */
  get fd(): number {
    return descriptorOf(this.#listener)
  }

  /** The port on which it listens for other nodes. */
  get port(): number {
    const address = this.#listener.server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** The streams of another node's courier. */
  courierOf(node: string): StreamingCourier {
    return {
      open: (request, take) => this.#link.stream(node, request, take),
      confirm: (subscription, upTo) => this.#link.confirm(node, subscription, upTo),
    }
  }

  /** Asks another node for the appliedIndex of partitions that it owns. */
  async positionsOf(node: string, partitions: readonly number[]): Promise<ConfirmedPositions> {
    const positions = await this.#link.positions(node, partitions)
    return positions.ok ? ok(numbersOf(positions.value)) : positions
  }

  /** Ends in order: resolves when the mailboxes are empty and the responses to other nodes are sent. */
  async close(): Promise<void> {
    for (const mailbox of this.mailboxes) mailbox.close()
    this.#link.close()
    await nextTurn()
    this.#listener.close(this.#isShared)
  }
}

/** The positions of partitions, without the metadata log. */
function numbersOf(positions: ReadonlyMap<LogName, LogSequence>): ReadonlyMap<number, LogSequence> {
  const numbers = new Map<number, LogSequence>()
  for (const [log, position] of positions) if (log !== 'control') numbers.set(log, position)
  return numbers
}

function timed(route: BatchRoute | undefined, answered: NodeFrontParts['answered']): BatchRoute | undefined {
  return (
    route && {
      batchesMost: route.batchesMost,
      opened: route.opened,
      send: (commands, until_ms, take) => {
        const begun = process.hrtime.bigint()
        let isFirst = true
        route.send(commands, until_ms, (part) => {
          if (isFirst) answered(process.hrtime.bigint() - begun)
          isFirst = false
          take(part)
        })
      },
      close: () => route.close(),
    }
  )
}
