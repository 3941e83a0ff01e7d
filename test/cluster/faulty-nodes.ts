import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { ShiftedClock } from '../faults/faketime.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { BrokenProxy, type ProxyState } from './broken-proxy.js'
import type { EtcdMembers } from './etcd-members.js'
import { freshName } from './given.js'
import { nodeFlags, rebalancedSoon } from './given-nodes.js'

/** A node all of whose ways to others, whose clock, and whose files can be disturbed. */
export interface FaultyNode {
  readonly name: string
  readonly broker: RunningBroker
  /** A proxy before each member of etcd. */
  readonly toEngine: readonly BrokenProxy[]
  /** Before what it listens on for other nodes. */
  readonly fromNodes: BrokenProxy
  readonly clock: ShiftedClock
}

/**
 * Starts nodes of a new cluster, the first one before the others, and waits until each owns something.
 *
 * @param folderOf where the data folder of a node is to be
 * @param linkFlags what a node is known by to the others
 * @param haveClocks whether all of their clocks can be shifted from their start
 */
export async function faultyNodes(
  t: Test,
  etcd: EtcdMembers,
  names: readonly string[],
  folderOf: (name: string) => string,
  linkFlags: (name: string) => readonly string[],
  haveClocks: boolean,
): Promise<readonly FaultyNode[]> {
  const cluster = freshName()
  const start = async (name: string): Promise<FaultyNode> => {
    const port = await freePort()
    const fromNodes = await BrokenProxy.before(t, `http://127.0.0.1:${port}`)
    const toEngine = await Promise.all(etcd.urls.map((url) => BrokenProxy.before(t, url)))
    const clock = new ShiftedClock(join(t.testdirName, `clock-${name}`), haveClocks)
    const urls = toEngine.map(({ url }) => url)
    const flags = [
      ...nodeFlags({ urls }, cluster, name, { port, advertised: `127.0.0.1:${fromNodes.port}`, httpThreads: 2 }),
      ...[...linkFlags(name), ...rebalancedSoon, '-logLevel', 'INFO', '-dbFreeMin', '4'],
      ...['-notifRetryMin', '50', '-notifRetryMax', '200'],
    ]
    const broker = await RunningBroker.startOn(t, folderOf(name), flags, {
      get environment() {
        return clock.environment
      },
    })
    return { name, broker, toEngine, fromNodes, clock }
  }
  const [first = '', ...others] = names
  const nodes = [await start(first), ...(await Promise.all(others.map(start)))]
  await until(() => nodes.every(({ broker }) => owns(broker)), 'each node has been handed over its share')
  return nodes
}

/** Whether a node has ever owned a partition. */
function owns(broker: RunningBroker): boolean {
  return broker.output.includes('this node owns the partition')
}

/** What becomes of all that a node and etcd send each other. */
export function becomeToEngine({ toEngine }: FaultyNode, state: ProxyState): void {
  for (const proxy of toEngine) proxy.become(state)
}

/** Why the size of files cannot be limited here; false where it can. */
export const noLimits: string | false = spawnSync('prlimit', ['--version']).status === 0 ? false : 'there is no prlimit'

/** Has the files of a node grow no further than a few pages, or as they like. */
export function limitFiles({ broker }: FaultyNode, isLimited: boolean): void {
  const limit = isLimited ? '8192:unlimited' : 'unlimited'
  const { status, stderr } = spawnSync('prlimit', ['--pid', `${broker.pid}`, `--fsize=${limit}`], { encoding: 'utf8' })
  if (status !== 0 && broker.exit === null) throw new Error(`the limit cannot be set: ${stderr}`)
}

/** What the lmdb package says where a file cannot grow; it writes past the end of a buffer then (docs/limits.md). */
export const toldByLmdb = 'Write error: File too large'

/** Ends a node whose memory that may have damaged since it was started: it could end at any time, without a word. */
export async function endIfDamaged({ broker }: FaultyNode): Promise<void> {
  const sinceStart = broker.output.slice(broker.output.lastIndexOf('"op":"main:start"'))
  if (broker.exit === null && sinceStart.includes(toldByLmdb)) await broker.end('SIGKILL')
}
