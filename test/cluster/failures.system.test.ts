import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { before, t as file, type Test, test } from 'tap'
import { noFaketime } from '../faults/faketime.js'
import { isLong } from '../faults/run.js'
import { CutDisk, mayCut } from '../lmdb/cut-disk.js'
import { Authority } from '../node-link/certificates.js'
import { mayMount, type SmallDisk, smallDisk } from '../small-disk.js'
import { until } from '../until.js'
import { ClusterLoad } from './cluster-load.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { becomeToEngine, endIfDamaged, type FaultyNode, faultyNodes, limitFiles, noLimits } from './faulty-nodes.js'
import { certificateFlags, tokenFlags } from './given-nodes.js'
import { faultBy, revive, seeded } from './random-faults.js'

const names = ['a', 'b', 'c']

/** Rounds of faults by chance, behind those that have a name. */
const rounds = Number(process.env['RIGEL_CLUSTER_ROUNDS'] ?? (isLong ? 50 : 2))

/** What repeats the faults, but not when they meet the load. */
const seed = Number(process.env['RIGEL_SEED'] ?? Date.now() % 2 ** 31)

/** Whether nodes know each other by certificates, else by a token. */
const isByCertificates = process.env['RIGEL_CLUSTER_LINK'] === 'certificates'

/** So much etcd takes: enough for the logs, and soon full. Its file grows by 16 MiB at a time. */
const quota_bytes = (isLong ? 64 : 40) * 2 ** 20

/** All subtests disturb the same cluster, one after the other: what one leaves is what the next one begins with. */
let etcd: EtcdMembers
let nodes: readonly FaultyNode[]
let load: ClusterLoad
/** Of the first node, and of etcd; of the last one. */
let cutDisk: CutDisk | undefined
let ownDisk: SmallDisk | undefined
/** Of node b alone, which loses its power in rounds by chance. */
let ownPower: CutDisk | undefined

if (noEtcd === false) {
  before(async () => {
    cutDisk = mayCut.skip === undefined ? new CutDisk(file, 2048) : undefined
    ownDisk = mayMount.skip === undefined ? smallDisk(file, 96) : undefined
    ownPower = mayCut.skip === undefined ? new CutDisk(file, 512) : undefined
    const folder = cutDisk?.path ?? file.testdir()
    mkdirSync(join(folder, 'etcd'), { recursive: true })
    mkdirSync(file.testdirName, { recursive: true })
    etcd = await EtcdMembers.start(file, 3, ['--quota-backend-bytes', `${quota_bytes}`], {
      folder: join(folder, 'etcd'),
    })
    const disks = new Map([
      ['b', ownPower?.path],
      ['c', ownDisk?.path],
    ])
    const folderOf = (name: string): string => join(disks.get(name) ?? folder, `data-${name}`)
    const authority = isByCertificates ? new Authority() : undefined
    const linkFlags = (name: string): readonly string[] =>
      authority ? certificateFlags(file.testdirName, authority, name) : tokenFlags(file.testdirName)
    nodes = await faultyNodes(file, etcd, names, folderOf, linkFlags, isLong)
    load = await ClusterLoad.start(file, brokers())
    await load.goesOn()
  })
}

const brokers = () => nodes.map(({ broker }) => broker)

function node(name: string): FaultyNode {
  const found = nodes.find((each) => each.name === name)
  if (found === undefined) throw new Error(`there is no node ${name}`)
  return found
}

/** All but this one. */
function others({ name }: FaultyNode) {
  return nodes.filter((each) => each.name !== name).map(({ broker }) => broker)
}

/** A failure: the load goes on behind it, and nothing that was promised was broken. */
function failure(name: string, happens: (t: Test) => Promise<void>, skip: string | false = false): void {
  test(name, { skip: noEtcd || skip }, async (t) => {
    t.setTimeout(300_000)
    const before = load.violations.length
    try {
      await happens(t)
      await load.goesOn()
    } catch (fault) {
      for (const { name, broker } of nodes)
        t.comment(`node ${name}, ${broker.exit ?? 'which runs'}: ${linesOf(broker.output)}`)
      throw fault
    }
    t.same(load.violations.slice(before, before + 10), [])
  })
}

/** The last lines that are about the cluster, or about the end of the process. */
function linesOf(output: string): string {
  return output
    .split('\n')
    .filter((line) => !/"op":"(http|notif):/.test(line))
    .slice(-40)
    .join('\n')
}

/** The status and text of an update of some entity at a node. */
async function update({ broker }: FaultyNode): Promise<string> {
  const { status, text } = await broker.send('POST', '/v2/entities?options=upsert', { id: 'Any', type: 'Any' })
  return `${status} ${text}`
}

/** Resolves when updates at a node are refused with words. */
function refusesUpdates(at: FaultyNode, words: RegExp): Promise<true> {
  return until(async () => words.test(await update(at)), `node ${at.name} refuses updates: ${words}`)
}

/** Resolves when a node says that it is not ready: it finds that out for itself, and not with the first request that it refuses. */
function notReady({ name, broker }: FaultyNode): Promise<true> {
  const isNot = async (): Promise<boolean> => (await broker.send('GET', '/health/ready')).status === 503
  return until(isNot, `node ${name} says that it is not ready`)
}

/** Resolves when a node answers a read with this status. */
function readsAre(at: FaultyNode, status: number): Promise<true> {
  const are = async (): Promise<boolean> => (await at.broker.send('GET', '/v2/entities/Any')).status === status
  return until(are, `node ${at.name} answers reads with ${status}`)
}

failure('the leader of etcd dies: updates go on when there is another one', async () => {
  const leader = etcd.leader()
  await etcd.kill(leader)
  await load.goesOn()
  etcd.start(leader)
})

failure('a majority of etcd is away: updates and then reads are refused, and all goes on by itself', async () => {
  const leader = etcd.leader()
  const stopped = [leader, (leader + 1) % etcd.size]
  for (const member of stopped) etcd.signal(member, 'SIGSTOP')
  try {
    await Promise.all(nodes.map((each) => refusesUpdates(each, /^503 /)))
    await Promise.all(nodes.map((each) => readsAre(each, 503)))
    await notReady(node('a'))
  } finally {
    for (const member of stopped) etcd.signal(member, 'SIGCONT')
  }
  for (const { broker } of nodes) await broker.becomesReady()
})

failure('etcd is full: updates are refused, and go on when there is room and its alarm is disarmed', async () => {
  // As much as etcd takes at a time: each of these is flushed to the disks of its members.
  const noise = Buffer.alloc(2 ** 20).toString('base64')
  const filled = async (number: number): Promise<boolean> => {
    const key = Buffer.from(`/filled/${number}`).toString('base64')
    const body = JSON.stringify({ key, value: noise })
    return (await fetch(`${etcd.urls[0]}/v3/kv/put`, { method: 'POST', body })).ok
  }
  try {
    // One that is not written may have been too slow, or met another leader.
    const isFull = (): boolean => etcd.control(['alarm', 'list']).includes('NOSPACE')
    for (let number = 0; (await filled(number)) || !isFull(); number += 1) {
      if (number === 1000) throw new Error('etcd is not full yet')
    }
    // What was under way may still be carried out.
    await Promise.all(nodes.map((each) => refusesUpdates(each, /^503 .*(storage full|may have been carried out)/)))
  } finally {
    etcd.control(['del', '--prefix', '/filled/'])
    const [, revision = ''] = /"revision":(\d+)/.exec(etcd.control(['endpoint', 'status', '--write-out=json'])) ?? []
    etcd.control(['compaction', revision])
    for (let member = 0; member < etcd.size; member += 1) etcd.control(['defrag'], member)
    etcd.control(['alarm', 'disarm'])
  }
})

failure('a node is killed: others own what it had, and it follows when it is there again', async () => {
  const killed = node('a')
  await killed.broker.end('SIGKILL')
  await load.goesOn(others(killed))
  await killed.broker.run()
})

failure('a node stands still: others own what it had, and it shows nothing old when it goes on', async () => {
  const paused = node('b')
  const heard = (): number => paused.broker.output.split('another node owns the partition').length
  const before = heard()
  await until(() => owns(paused), 'it owns something')
  paused.broker.signal('SIGSTOP')
  await load.goesOn(others(paused))
  paused.broker.signal('SIGCONT')
  await until(() => heard() > before, 'it hears that it is no owner any more')
})

failure('a node does not reach etcd: others own what it had, and it refuses what is asked of it', async () => {
  const cut = node('c')
  becomeToEngine(cut, 'closed')
  await load.goesOn(others(cut))
  await readsAre(cut, 503)
  await notReady(cut)
  becomeToEngine(cut, 'open')
  await cut.broker.becomesReady()
})

failure(
  'the disk of a node is full: its replicas wait, and it ends in order; all goes on when there is room',
  async (t) => {
    const full = node('c')
    try {
      ownDisk?.leave(0)
      await until(() => /no room for the records/.test(full.broker.output), 'it says that its replicas wait')
      await full.broker.endsInOrder(t)
    } finally {
      ownDisk?.clear()
    }
    await full.broker.run()
  },
  mayMount.skip ?? false,
)

failure(
  'the files of a node cannot grow: it ends when a record stands that it cannot apply, or others own what it had before',
  async (t) => {
    const limited = node('a')
    await until(() => owns(limited), 'it owns something')
    limitFiles(limited, true)
    const { broker } = limited
    const ownsNothing = async (): Promise<boolean> => broker.exit !== null || !(await owns(limited).catch(() => true))
    await until(ownsNothing, 'it owns nothing any more')
    await load.goesOn(others(limited))
    limitFiles(limited, false)
    // It may be about to end.
    const isReady = async (): Promise<boolean> => (await broker.send('GET', '/health/ready')).status === 200
    await until(async () => broker.exit !== null || (await isReady().catch(() => false)), 'it has ended, or goes on')
    t.not(broker.exit, 'SIGKILL', 'it ends by itself')
    await endIfDamaged(limited)
    await revive(t, [limited])
  },
  noLimits,
)

failure(
  'the clock of a node is wrong: all goes on, and the others say so',
  async (t) => {
    const wrong = node('b')
    if (!wrong.clock.isOn) {
      wrong.clock.turnOn()
      await wrong.broker.endsInOrder(t)
      await wrong.broker.run()
    }
    await until(() => owns(wrong), 'it owns something')
    const isReported = async (): Promise<boolean> => {
      const metrics = await Promise.all(others(wrong).map((each) => each.send('GET', '/metrics')))
      return metrics.some(({ text }) => /^rigel_cluster_clock_skew_seconds\{partition="\d"\} -(29|30)/m.test(text))
    }
    try {
      wrong.clock.shift('+30')
      await until(isReported, 'another node knows how far its clock is behind')
      wrong.clock.shift('-1h')
      await load.goesOn()
    } finally {
      wrong.clock.shift('+0')
    }
  },
  noFaketime,
)

failure('the power of all goes: nothing that was acknowledged is lost', async (t) => {
  if (cutDisk === undefined) t.comment('no file system can lose its power here: everything is killed')
  const disks = [cutDisk, ownPower]
  for (const disk of disks) disk?.cut('nothingFlushed')
  await Promise.all(brokers().map((broker) => broker.end('SIGKILL')))
  for (let member = 0; member < etcd.size; member += 1) await etcd.kill(member)
  for (const disk of disks) {
    await disk?.unmount()
    disk?.mount()
  }
  for (let member = 0; member < etcd.size; member += 1) etcd.start(member)
  await etcd.untilHealthy()
  await Promise.all(brokers().map((broker) => broker.run()))
})

failure(`faults by chance, ${rounds} times, with RIGEL_SEED=${seed}`, async (t) => {
  t.setTimeout(300_000 + rounds * 120_000)
  const chance = seeded(seed)
  for (let round = 0; round < rounds; round += 1) {
    const cluster = { etcd, nodes, ownPower: ownPower && { node: node('b'), disk: ownPower } }
    const faults = [faultBy(chance, cluster)]
    // Some meet another one.
    if (chance(3) === 0) faults.push(faultBy(chance, cluster))
    t.comment(`round ${round}: ${faults.map(({ name }) => name).join(', ')}`)
    for (const fault of faults) {
      await fault.begin()
      await delay(chance(3000))
    }
    await delay(chance(isLong ? 12_000 : 3000))
    for (const fault of faults) await fault.end()
    await delay(chance(2000))
    await revive(t, nodes)
    await load.goesOn()
    if (load.violations.length > 0) return
  }
})

test('every promise was kept', { skip: noEtcd }, async (t) => {
  t.setTimeout(300_000)
  await load.check(t)
  for (const broker of brokers()) await broker.endsInOrder(t)
})

/** Whether a node owns a partition, as it says itself. */
async function owns({ broker }: FaultyNode): Promise<boolean> {
  return /^rigel_cluster_partitions_owned [1-9]/m.test((await broker.send('GET', '/metrics')).text)
}
