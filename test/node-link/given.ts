import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import type { Test } from 'tap'
import type { SnapshotTransferService } from '../../src/broker/front-end/services.js'
import type { BatchRoute, CommandOutcome, OutcomePart, SentOutcome } from '../../src/cluster/link/batch-route.js'
import type { LinkServices } from '../../src/cluster/link/link-requests.js'
import type { LinkSecurity } from '../../src/cluster/link/link-security.js'
import { NodeLink } from '../../src/cluster/link/node-link.js'
import { type LinkLimits, NodeListener } from '../../src/cluster/link/node-listener.js'
import { putAll } from '../../src/cluster/link/node-route.js'
import type { NodeAddress } from '../../src/cluster/membership/route-table.js'
import { Measures } from '../../src/observe/measure/measures.js'
import { nodeStatistics } from '../../src/observe/measure/node-statistics.js'
import { Inbox } from '../../src/partition/mailbox/inbox.js'
import { Mailbox } from '../../src/partition/mailbox/mailbox.js'
import type { Command } from '../../src/partition/turn/commands.js'
import { err } from '../../src/result.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { MailboxCapacity } from '../../src/threads/shared-memory/limits.js'
import { type FencingToken, PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { SenderTable } from '../../src/threads/shared-memory/sender-table.js'
import { command, given, silentLog, storeSettings } from '../given.js'
import { inboxParts, slowWords } from '../mailbox/given.js'

export const token = 'a token that is long enough for a cluster'.replaceAll(' ', '-')
export const byToken: LinkSecurity = { tls: undefined, tokens: [token] }

const noMeasures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 1 })
const notCoordinator = err({ kind: 'notCoordinator', owner: undefined } as const)

/** A partition in this process: its store, and the mailbox before it. */
export interface Partition {
  readonly store: PartitionStore
  readonly mailbox: Mailbox
  readonly position: PartitionPosition
  /** Whether its thread takes turns. */
  readonly ownership: { isOwner: boolean }
}

/** On a folder of its own, which goes with the test. */
export function partition(t: Test): Partition {
  const folder = mkdtempSync(join(tmpdir(), 'rigel-link-'))
  // A flush would keep this thread from everything else, and may take longer than a sender waits.
  const store = new PartitionStore(folder, { ...storeSettings, durable: false })
  const position = new PartitionPosition(PartitionPosition.memory())
  position.own(1)
  const ownership = {
    ...{ isOwner: true, isConfirmed: () => true },
    ...{ logged: () => {}, turned: () => {}, fenced: () => {}, givenUp: () => {} },
  }
  const inbox = new Inbox({
    ...inboxParts(store),
    ...{ position, ownership, interpret: slowWords },
  })
  const { port1, port2 } = new MessageChannel()
  const mailbox = new Mailbox({
    room: new MailboxCapacity(100_000),
    measured: () => false,
    patience_ms: 60_000,
    depth: () => {},
  })
  mailbox.connect(port1)
  inbox.connect(port2)
  t.teardown(async () => {
    mailbox.close()
    await store.close()
    rmSync(folder, { recursive: true })
  })
  return { store, mailbox, position, ownership }
}

/** A node with one partition, which it owns until it is told otherwise. */
export class GivenNode {
  readonly name: string
  readonly partition: Partition
  readonly listener: NodeListener
  readonly senders = new SenderTable(1)
  readonly lines: string[] = []
  /** The batches that were taken, in their order. */
  readonly taken: (readonly Command[])[] = []
  /** The owner that it knows; its own name when it is that itself. */
  owner: string | undefined
  /** Called before a batch is taken: what it gives is taken in its place; nothing for what the partition gives. */
  before: (commands: readonly Command[]) => Promise<readonly CommandOutcome[] | undefined> | undefined = () => undefined
  services: Partial<LinkServices> = {}
  transfers: SnapshotTransferService = { beginTransfer: async () => undefined, endTransfer: async () => false }

  static async start(
    t: Test,
    name = 'b',
    security: LinkSecurity = byToken,
    limits: Partial<LinkLimits> = {},
  ): Promise<GivenNode> {
    const node = new GivenNode(t, name, security, limits)
    node.listener.server.listen(0, '127.0.0.1')
    await once(node.listener.server, 'listening')
    node.listener.survivesErrors()
    t.teardown(() => node.listener.close())
    return node
  }

  private constructor(t: Test, name: string, security: LinkSecurity, limits: Partial<LinkLimits>) {
    this.name = name
    this.owner = name
    this.partition = partition(t)
    const services: LinkServices = {
      partitions: 1,
      senders: this.senders,
      fencingTokenOf: () => this.partition.position.fencingToken,
      take: (_partition, ...batch) => this.#take(...batch),
      ownerOf: () => (this.owner === name ? undefined : this.owner),
      positions: (logs) => this.services.positions?.(logs) ?? [],
      clock: () => this.services.clock?.() ?? Date.now(),
      coordinator: {
        take: async (request) => this.services.coordinator?.take(request) ?? notCoordinator,
        heartbeat: async (metadataVersion) => this.services.coordinator?.heartbeat(metadataVersion),
      },
      listening: {
        open: async (request, take) => this.services.listening?.open(request, take) ?? err('away'),
        confirm: async (subscription, upTo) => this.services.listening?.confirm(subscription, upTo) ?? err('away'),
      },
      statistics: () => this.services.statistics?.() ?? nodeStatistics(noMeasures, []),
      transfers: {
        beginTransfer: (log) => this.transfers.beginTransfer(log),
        endTransfer: (log) => this.transfers.endTransfer(log),
      },
    }
    const log = { ...silentLog, warn: (_op: string, line: string) => void this.lines.push(line) }
    this.listener = new NodeListener({ self: { cluster: 'c', node: name }, security, services, log, limits })
  }

  get port(): number {
    const { port } = this.listener.server.address() as AddressInfo
    return port
  }

  get address(): NodeAddress {
    return { node: this.name, host: '127.0.0.1', port: this.port }
  }

  #take(
    commands: readonly Command[],
    until_ms: number,
    fencingToken: FencingToken,
    take: (part: OutcomePart<CommandOutcome>) => void,
  ): void {
    this.taken.push(commands)
    const put = (): void => putAll(this.partition.mailbox, commands, until_ms, fencingToken, take)
    const before = this.owner === this.name ? this.before(commands) : undefined
    if (this.owner !== this.name) take({ outcomes: commands.map(() => notOwner) })
    else if (before === undefined) put()
    else void before.then((outcomes) => (outcomes === undefined ? put() : take({ outcomes })))
  }
}

/** Sends a batch by a way that is opened, and gives all outcomes in the order of the commands when they are there. */
export function sentBy(
  route: BatchRoute,
  commands: readonly Command[],
  until_ms: number,
): Promise<readonly SentOutcome[]> {
  return new Promise((resolve) => {
    const all: SentOutcome[] = []
    let open = commands.length
    route.send(commands, until_ms, ({ outcomes, at }) => {
      for (const [index, outcome] of outcomes.entries()) all[at?.[index] ?? index] = outcome
      open -= outcomes.length
      if (open === 0) resolve(all)
    })
  })
}

export const notOwner: CommandOutcome = { ok: false, error: { kind: 'notOwner', owner: undefined } }

/** The link of node `a` to others, by their addresses. */
export function linkTo(
  t: Test,
  addresses: readonly NodeAddress[],
  security: LinkSecurity = byToken,
  more: { readonly cluster?: string; readonly frontEnd?: number; readonly warn?: (line: string) => void } = {},
): NodeLink {
  const { cluster = 'c', frontEnd = 0, warn = () => {} } = more
  const link = new NodeLink({
    self: { cluster, node: 'a' },
    security,
    slot: 0,
    frontEnd,
    addressOf: (name) => addresses.find(({ node }) => node === name),
    log: { ...silentLog, warn: (_op, line) => warn(line) },
  })
  t.teardown(() => link.close())
  return link
}

/** An update that sets the attribute `level` of an entity. */
export function levelOf(entity: string, level: string): Command {
  return command('APPEND', entity, [given('level', level)])
}
