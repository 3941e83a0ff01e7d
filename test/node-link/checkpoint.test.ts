import { randomBytes } from 'node:crypto'
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Test, test } from 'tap'
import type { SnapshotTransferService } from '../../src/broker/front-end/services.js'
import { fetchCheckpoint } from '../../src/cluster/link/checkpoint-fetch.js'
import type { NodeAddress } from '../../src/cluster/membership/route-table.js'
import type { PinnedCommit } from '../../src/storage/records/store.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { id, root, storeSettings, tenant } from '../given.js'
import { until } from '../until.js'
import { CuttingProxy } from './cutting-proxy.js'
import { byToken, GivenNode, levelOf } from './given.js'

const caller = { self: { cluster: 'c', node: 'a' }, security: byToken }

function fetchFrom(from: NodeAddress, most_bytes = 2 ** 30): ReturnType<typeof fetchCheckpoint> {
  return fetchCheckpoint(from, caller, 0, most_bytes)
}

/** Fetches partition 0 into a file; what is wrong when that fails. */
async function fetched(from: NodeAddress, file: string): Promise<number | string> {
  const snapshot = await fetchFrom(from)
  if (!snapshot.ok) return snapshot.error.reason
  try {
    await pipeline(snapshot.value.pieces, createWriteStream(file))
    return snapshot.value.applied
  } catch (fault) {
    return String(fault)
  }
}

/** Of a file in the place of a partition's; counts what is kept and let go. */
class Pins implements SnapshotTransferService {
  readonly #file: string
  begun = 0
  released = 0
  wasKept = true

  constructor(file: string) {
    this.#file = file
  }

  async beginTransfer(): Promise<PinnedCommit> {
    this.begun += 1
    const { length } = readFileSync(this.#file)
    const patches = [{ at: 2, bytes: Buffer.from('patched') }]
    return { file: { file: this.#file, bytes: length, patches }, applied: 7 as LogSequence }
  }

  async endTransfer(): Promise<boolean> {
    this.released += 1
    return this.wasKept
  }
}

/** A node that sends snapshots of a file of this many bytes. */
async function giving(t: Test, bytes: number): Promise<{ node: GivenNode; pins: Pins; folder: string }> {
  const folder = t.testdir()
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'data.mdb')
  writeFileSync(file, randomBytes(bytes))
  const node = await GivenNode.start(t)
  const pins = new Pins(file)
  node.transfers = pins
  return { node, pins, folder }
}

test('a partition is copied as it was at one commit, while it goes on; what opens the snapshot has exactly that', async (t) => {
  const node = await GivenNode.start(t)
  const { store, mailbox } = node.partition
  await Promise.all(Array.from({ length: 300 }, (_, at) => mailbox.ask(levelOf(`E${at}`, 'x'.repeat(500)))))
  node.transfers = {
    beginTransfer: async () => store.pin('transfer'),
    endTransfer: async () => store.unpin('transfer'),
  }
  const { applied } = store
  const snapshot = await fetchFrom(node.address)
  await Promise.all(Array.from({ length: 300 }, (_, at) => mailbox.ask(levelOf(`F${at}`, 'y'.repeat(500)))))
  t.ok(snapshot.ok)
  if (!snapshot.ok) return
  const folder = t.testdir({ snapshot: {} })
  await pipeline(snapshot.value.pieces, createWriteStream(join(folder, 'snapshot', 'data.mdb')))
  t.equal(snapshot.value.applied, applied)
  const opened = new PartitionStore(join(folder, 'snapshot'), storeSettings)
  t.same([opened.entityCount, opened.applied, store.entityCount], [300, applied, 600])
  t.equal(opened.entities(tenant, root, id('E299'))[0]?.attributes[0]?.value, 'x'.repeat(500))
  await opened.close()
  t.notOk(store.unpin('transfer'), 'nothing is kept any more')
})

test('a backup and a snapshot transfer keep commits of their own', async (t) => {
  const { store, mailbox } = (await GivenNode.start(t)).partition
  await mailbox.ask(levelOf('E', '1'))
  store.pin('backup')
  store.pin('transfer')
  t.same([store.unpin('transfer'), store.unpin('transfer'), store.unpin('backup')], [true, false, true])
})

test('a snapshot that is cut anywhere is none, and what was kept for it is let go', async (t) => {
  const { node, pins, folder } = await giving(t, 700_000)
  t.equal(await fetched(node.address, join(folder, 'whole')), 7)
  const whole = readFileSync(join(folder, 'whole'))
  t.same([whole.length, whole.toString('latin1', 2, 9)], [700_000, 'patched'])
  for (const after_bytes of [0, 100, 5_000, 400_000, 700_000, 700_150]) {
    const proxy = await CuttingProxy.before(t, node, [{ of: 'responses', after_bytes }])
    t.type(await fetched(proxy.address('b'), join(folder, 'cut')), 'string', `after ${after_bytes} bytes`)
  }
  await until(() => pins.released === pins.begun)
  t.equal(pins.begun, 7)
})

test('a snapshot that was damaged on its way is known, and one whose commit was not kept until its end', async (t) => {
  const { node, pins, folder } = await giving(t, 300_000)
  const proxy = await CuttingProxy.before(t, node)
  proxy.damageResponsesAt(200_000)
  t.match(await fetched(proxy.address('b'), join(folder, 'snapshot')), /damaged on its way/)
  pins.wasKept = false
  t.type(await fetched(node.address, join(folder, 'snapshot')), 'string')
  pins.wasKept = true
  t.equal(await fetched(node.address, join(folder, 'snapshot')), 7)
})

test('a node without a snapshot says so; one that is too large is not begun; a reader that stops lets go', async (t) => {
  const { node, pins } = await giving(t, 3_000_000)
  node.transfers = { beginTransfer: async () => undefined, endTransfer: async () => false }
  t.match(await fetchFrom(node.address), { ok: false, error: { reason: 'it sends no snapshot now' } })
  node.transfers = pins
  t.match(await fetchFrom(node.address, 1000), {
    ok: false,
    error: { reason: /3000000 bytes, and there is room for 1000/ },
  })
  const snapshot = await fetchFrom(node.address)
  t.ok(snapshot.ok)
  if (snapshot.ok) {
    await snapshot.value.pieces.next()
    await snapshot.value.pieces.return()
  }
  await until(() => pins.released === 2)
})
