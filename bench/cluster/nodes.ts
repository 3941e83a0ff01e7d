import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { placed } from '../../src/cluster/membership/placing.js'
import { shardOf } from '../../src/hash.js'
import { BrokerProcess, DataFolder } from '../broker-process.js'
import { deviceId } from '../device.js'
import { freePort } from '../free-port.js'
import { items, member } from '../ngsi.js'
import { EtcdProcesses, etcdMembers } from './etcd-processes.js'
import type { ProcessorShares } from './processor-share.js'

/** As many as a cluster that is to outlive one of them needs. */
const members = 3

const listenersMost = 100

const patience_ms = 180_000

/** The partition of this many that has a device, in the default tenant. */
export function partitionOfDevice(number: number, partitions: number): number {
  return shardOf('', deviceId(number), partitions)
}

/** How the nodes of a cluster are started. */
export interface NodeStart {
  readonly main: string
  readonly flags: readonly string[]
  readonly partitions: number
  /** What each broker is held to when that is asked for; all that it can get without them. */
  readonly shares: ProcessorShares | undefined
}

/** A node that runs: its broker, and the folder that stays when it is killed. */
interface Node {
  readonly name: string
  readonly port: number
  readonly folder: DataFolder
  readonly broker: BrokerProcess
}

/** How one of them is. */
interface Started {
  readonly flags?: readonly string[]
  /** A folder that was filled by a single broker. */
  readonly filled?: DataFolder
  /** Hears the number of the process before it answers. */
  readonly begun?: (pid: number) => void
}

/** A cluster of several nodes on this machine, with an etcd of three members: all of them processes of their own. */
export class NodesUnderTest {
  readonly etcd: EtcdProcesses
  readonly #start: NodeStart
  readonly #folder: DataFolder
  readonly #nodes = new Map<string, Node>()
  /** Of nodes that do not run now. */
  readonly #away = new Map<string, Pick<Node, 'port' | 'folder'>>()
  readonly #atExit = () => {
    for (let number = 0; number < members; number += 1) this.etcd.signal(number, 'SIGKILL')
  }

  private constructor(etcd: EtcdProcesses, start: NodeStart, folder: DataFolder) {
    this.etcd = etcd
    this.#start = start
    this.#folder = folder
    process.prependListener('exit', this.#atExit)
    // Each broker and each folder has one.
    process.setMaxListeners(Math.max(process.getMaxListeners(), listenersMost))
  }

  /** Works with an etcd that serves and no node yet; ends whatever was started. */
  static async with<T>(start: NodeStart, work: (nodes: NodesUnderTest) => Promise<T>): Promise<T> {
    const folder = new DataFolder()
    const etcd = new EtcdProcesses(await etcdMembers(members, folder.path), ['--snapshot-count', '5000'])
    const nodes = new NodesUnderTest(etcd, start, folder)
    try {
      writeFileSync(nodes.#token, `${'bench'.repeat(8)}\n`)
      etcd.startAll()
      await etcd.untilHealthy()
      return await work(nodes)
    } finally {
      await nodes.#end()
    }
  }

  get partitions(): number {
    return this.#start.partitions
  }

  get names(): readonly string[] {
    return [...this.#nodes.keys()]
  }

  get urls(): readonly string[] {
    return this.names.map((name) => this.broker(name).url)
  }

  /** The broker of a node that runs. */
  broker(name: string): BrokerProcess {
    const node = this.#nodes.get(name)
    if (node === undefined) throw new Error(`node ${name} does not run`)
    return node.broker
  }

  /** Starts nodes one after the other, and waits until each is where it belongs. */
  async startAll(names: readonly string[], flags: readonly string[] = []): Promise<void> {
    for (const name of names) await this.start(name, { flags })
    await this.untilPlaced()
  }

  /** Holds each broker that runs to its share of a processor, if there are shares. */
  holdToShares(): void {
    for (const name of this.names) this.#start.shares?.hold(this.broker(name).pid)
  }

  /** Starts a node on its folder, which is new at first unless one is given, and waits until it answers. */
  async start(name: string, { flags = [], filled, begun }: Started = {}): Promise<BrokerProcess> {
    const { port, folder } = this.#away.get(name) ?? {
      port: await freePort(),
      folder: filled ?? new DataFolder(),
    }
    const own = ['-cluster', 'bench', '-clusterUrl', this.etcd.urls.join(','), '-partitions', String(this.partitions)]
    const link = ['-clusterPort', '0', '-clusterIp', '127.0.0.1', '-clusterAdvertise', '127.0.0.1']
    const all = [...own, ...link, '-clusterTokenFile', this.#token, '-nodeName', name, ...this.#start.flags, ...flags]
    const start = { main: this.#start.main, folder, flags: all, port, ...(begun && { begun }) }
    const broker = await BrokerProcess.start(start)
    this.#away.delete(name)
    this.#nodes.set(name, { name, port, folder, broker })
    return broker
  }

  /** Kills a node. */
  async kill(name: string): Promise<void> {
    const { port, folder, broker } = this.#nodes.get(name) ?? {}
    if (port === undefined || folder === undefined) throw new Error(`node ${name} does not run`)
    await broker?.kill()
    this.#nodes.delete(name)
    this.#away.set(name, { port, folder })
  }

  /** Resolves when all nodes that run are ready. */
  async untilReady(): Promise<void> {
    for (const url of this.urls) {
      await until(async () => (await fetch(`${url}/health/ready`).catch(() => undefined))?.status === 200, 'ready')
    }
  }

  /** Resolves when all nodes that run are ready, and each owns what belongs to it. */
  async untilPlaced(): Promise<void> {
    await this.untilReady()
    const { names, partitions } = this
    const facts = { nodes: names, members: new Set(names), partitions, replicas: names.length }
    const wanted = placed(facts).map(({ owner }) => owner)
    await until(async () => {
      const owners = await this.owners()
      return wanted.every((owner, partition) => owners[partition] === owner)
    }, 'the owner of what belongs to it')
  }

  /** The owner of each partition, by its number. */
  async owners(): Promise<readonly (string | undefined)[]> {
    const [url = ''] = this.urls
    const shown: unknown = await (await fetch(`${url}/admin/cluster`)).json()
    const owners = items(member(shown, 'partitions')).map((partition) => member(partition, 'owner'))
    return owners.map((owner) => (typeof owner === 'string' ? owner : undefined))
  }

  get #token(): string {
    return join(this.#folder.path, 'token')
  }

  async #end(): Promise<void> {
    for (const name of this.names) await this.kill(name)
    await this.etcd.end()
    process.off('exit', this.#atExit)
    for (const { folder } of this.#away.values()) folder.remove()
    this.#folder.remove()
  }
}

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const limit_ms = performance.now() + patience_ms
  while (!(await holds())) {
    if (performance.now() > limit_ms) throw new Error(`after ${patience_ms / 1000} s not every node is ${what}`)
    await delay(100)
  }
}
