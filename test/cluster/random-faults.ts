import type { Test } from 'tap'
import { noFaketime } from '../faults/faketime.js'
import type { CutDisk, Shutdown } from '../lmdb/cut-disk.js'
import type { ProxyState } from './broken-proxy.js'
import type { EtcdMembers } from './etcd-members.js'
import { becomeToEngine, endIfDamaged, type FaultyNode, limitFiles, noLimits, toldByLmdb } from './faulty-nodes.js'

/** Gives one of the numbers below another one. */
export type Chance = (below: number) => number

/** Something that happens to a cluster, until it is ended. */
export interface Fault {
  readonly name: string
  begin(): Promise<void> | void
  end(): Promise<void> | void
}

/** Exit code of a node that could not apply what stands in a log, of one that has to fetch snapshots, and of one without etcd. */
const expectedExits = [70, 8, 6]

const cuts: readonly Shutdown[] = ['nothingFlushed', 'journalFlushed']

/** Numbers that a seed repeats. */
export function seeded(seed: number): Chance {
  let state = seed
  // Mulberry32.
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((((mixed ^ (mixed >>> 14)) >>> 0) * below) / 2 ** 32) | 0
  }
}

/** What faults may meet. */
export interface FaultyCluster {
  readonly etcd: EtcdMembers
  readonly nodes: readonly FaultyNode[]
  /** A node whose disk may lose its power alone; nothing where no file system can. */
  readonly ownPower: { readonly node: FaultyNode; readonly disk: CutDisk } | undefined
}

/** One of the faults that there are, by chance. */
export function faultBy(chance: Chance, { etcd, nodes, ownPower }: FaultyCluster): Fault {
  const node = oneOf(chance, nodes)
  const member = chance(etcd.size)
  const state = oneOf(chance, ['slow', 'silent', 'closed'] as const)
  const faults: readonly (Fault | false)[] = [
    killed(node),
    paused(node),
    killedMember(etcd, member),
    pausedMembers(etcd, [member]),
    pausedMembers(etcd, [member, (member + 1) % etcd.size]),
    throughProxies(`etcd of ${node.name}`, (become) => becomeToEngine(node, become), state),
    throughProxies(`other nodes to ${node.name}`, (become) => node.fromNodes.become(become), state),
    !noLimits && fullFiles(node),
    !noFaketime && node.clock.isOn && shiftedClock(node, oneOf(chance, ['+3', '-3', '+1h', '-1h'])),
    allKilled(etcd, nodes),
    ownPower !== undefined && powerCut(ownPower.node, ownPower.disk, oneOf(chance, cuts)),
  ]
  return oneOf(
    chance,
    faults.filter((fault) => fault !== false),
  )
}

export function oneOf<Item>(chance: Chance, items: readonly Item[]): Item {
  const item = items[chance(items.length)]
  if (item === undefined) throw new Error('there is none')
  return item
}

/** Starts the nodes that have ended, for a reason that the fault explains. */
export async function revive(t: Test, nodes: readonly FaultyNode[]): Promise<void> {
  for (const { name, broker } of nodes) {
    if (broker.exit === null) continue
    const isOfLmdb = (broker.exit === 'SIGABRT' || broker.exit === 'SIGSEGV') && broker.output.includes(toldByLmdb)
    const isExpected = broker.exit === 'SIGKILL' || isOfLmdb || expectedExits.includes(Number(broker.exit))
    t.ok(isExpected, `node ${name} has ended with ${broker.exit}${isExpected ? '' : `: ${broker.output.slice(-3000)}`}`)
    await broker.run()
  }
}

function killed({ name, broker }: FaultyNode): Fault {
  const begin = async (): Promise<void> => void (await broker.end('SIGKILL'))
  return { name: `node ${name} is killed`, begin, end: () => {} }
}

/** Of what the node has written something is lost, unless it is on disk. */
function powerCut({ name, broker }: FaultyNode, disk: CutDisk, shutdown: Shutdown): Fault {
  const begin = async (): Promise<void> => {
    disk.cut(shutdown)
    await broker.end('SIGKILL')
    await disk.unmount()
    disk.mount()
  }
  return { name: `node ${name} loses its power (${shutdown})`, begin, end: () => {} }
}

function paused({ name, broker }: FaultyNode): Fault {
  const [begin, end] = [() => broker.signal('SIGSTOP'), () => broker.signal('SIGCONT')]
  return { name: `node ${name} is paused`, begin, end }
}

function killedMember(etcd: EtcdMembers, member: number): Fault {
  return { name: `member ${member} is killed`, begin: () => etcd.kill(member), end: () => startMember(etcd, member) }
}

/** Starts a member, unless it runs: two faults may have killed it. */
function startMember(etcd: EtcdMembers, member: number): void {
  const pid = etcd.pid(member)
  try {
    if (pid !== undefined && process.kill(pid, 0)) return
  } catch {
    // There is no such process.
  }
  etcd.start(member)
}

/** Two of three are a majority. */
function pausedMembers(etcd: EtcdMembers, members: readonly number[]): Fault {
  const all = (signal: NodeJS.Signals) => (): void => {
    for (const member of members) etcd.signal(member, signal)
  }
  return { name: `members ${members} are paused`, begin: all('SIGSTOP'), end: all('SIGCONT') }
}

function throughProxies(way: string, become: (state: ProxyState) => void, state: ProxyState): Fault {
  return { name: `the way of ${way} is ${state}`, begin: () => become(state), end: () => become('open') }
}

function fullFiles(node: FaultyNode): Fault {
  const end = async (): Promise<void> => {
    limitFiles(node, false)
    await endIfDamaged(node)
  }
  return { name: `files of ${node.name} cannot grow`, begin: () => limitFiles(node, true), end }
}

function shiftedClock({ name, clock }: FaultyNode, by: string): Fault {
  return {
    name: `the clock of ${name} is shifted by ${by}`,
    begin: () => clock.shift(by),
    end: () => clock.shift('+0'),
  }
}

function allKilled(etcd: EtcdMembers, nodes: readonly FaultyNode[]): Fault {
  const members = Array.from({ length: etcd.size }, (_, number) => number)
  const begin = async (): Promise<void> => {
    await Promise.all([
      ...members.map((member) => etcd.kill(member)),
      ...nodes.map(({ broker }) => broker.end('SIGKILL')),
    ])
  }
  const end = async (): Promise<void> => {
    for (const member of members) startMember(etcd, member)
    await etcd.untilHealthy()
  }
  return { name: 'everything is killed', begin, end }
}
