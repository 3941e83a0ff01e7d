import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { type Environment, openEnvironment } from '../../src/storage/environment/environment.js'
import { recordKey } from '../../src/storage/records/keys.js'
import { MetadataStore } from '../../src/storage/store/metadata-store.js'
import { PartitionReader } from '../../src/storage/store/partition-reader.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { scan } from '../../src/storage/store/scan.js'
import { FarEnd, responding } from '../far-end.js'
import {
  command,
  given,
  id,
  matcher,
  noWords,
  path,
  query,
  storeSettings,
  takeTurn,
  tenant,
  versions,
} from '../given.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

const root = path('/')
const limits = { page_bytes: 2 ** 20 }

/** What was written behind the back of the broker would be gone with the return to its checkpoint: makes it a copy made by LMDB. */
function asCopied(folder: string): void {
  for (const name of ['checkpoint', 'log']) rmSync(join(folder, name), { recursive: true })
}

/** What may become of the record of the first of two entities. */
const damages = [
  ['is missing', undefined, /data\.mdb: the record at sequence \d+ .*is missing, although an index names it: restore/],
  ['is cut off', '["Silo1","Silo","/",1', /data\.mdb: the record at sequence \d+ .*cannot be read \(.+\): restore/],
  ['is no record', 'xyz', /data\.mdb: the record at sequence \d+ .*cannot be read \(.+\): restore/],
] as const

async function damaged(t: Test, text: string | undefined): Promise<string> {
  const folder = t.testdir()
  const store = new PartitionStore(folder, storeSettings)
  const parts = { store, interpret: noWords, matcher: matcher(), versions: versions() }
  const attributes = [given('level', '1')]
  takeTurn(parts, [command('APPEND', 'Silo1', attributes), command('APPEND', 'Silo2', attributes)])
  const sequence = store.entities(tenant, root, id('Silo1'))[0]?.sequence
  await store.close()
  if (sequence === undefined) throw new Error('there is no such entity')
  const environment = openEnvironment(folder, { ...storeSettings, readOnly: false })
  const key = recordKey(tenant, sequence)
  if (text === undefined) environment.records.removeSync(key)
  else environment.records.putSync(key, text)
  await environment.root.close()
  return folder
}

for (const [what, text, message] of damages) {
  test(`a record that ${what} is a fault that names it for all who read it, and other entities go on`, async (t) => {
    const folder = await damaged(t, text)
    const store = new PartitionStore(folder, storeSettings)
    const reader = new PartitionReader(folder, storeSettings, versions())
    t.teardown(async () => {
      await reader.close()
      await store.close()
    })
    t.throws(() => store.entities(tenant, root, id('Silo1')), { name: 'DamagedRecord', message })
    t.match(store.entities(tenant, root, id('Silo2')), [{ id: 'Silo2' }])
    t.throws(() => reader.entities(tenant, undefined, id('Silo1'), 10_000), { name: 'DamagedRecord', message })
    t.match(reader.entities(tenant, undefined, id('Silo2'), 10_000), [{ id: 'Silo2' }])
    const exact = query({ selectors: [{ id: { kind: 'exact', id: id('Silo1') }, type: undefined }] })
    const sorted = query({ ...exact, order: [{ by: 'level', reversed: false }] })
    for (const request of [exact, sorted]) {
      const snapshot = reader.snapshot()
      await t.rejects(scan([snapshot], request, limits), { name: 'DamagedRecord', message })
      snapshot.close()
    }
  })
}

test('a record that cannot be read is 500 for those who ask for it, and its line says where it is', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1'])
  for (const name of ['Silo1', 'Silo2'])
    await broker.update('APPEND', { id: name, attributes: [{ name: 'a', value: '1' }] })
  await broker.endsInOrder(t)
  const environment = openEnvironment(`${broker.folder}/partition-0`, { ...storeSettings, readOnly: false })
  const [first] = environment.records.getRange({})
  if (!first) throw new Error('nothing was stored')
  await environment.records.put(first.key, '["Silo1","","/",')
  await environment.root.close()
  asCopied(`${broker.folder}/partition-0`)
  await broker.run()
  t.equal((await broker.send('GET', '/v1/contextEntities/Silo1')).status, 500)
  t.equal((await broker.send('GET', '/v1/contextEntities')).status, 500)
  t.equal((await broker.update('UPDATE', { id: 'Silo1', attributes: [{ name: 'a', value: '2' }] })).status, 500)
  t.equal((await broker.send('GET', '/v1/contextEntities/Silo1')).status, 500)
  t.equal((await broker.send('GET', '/v1/contextEntities/Silo2')).status, 200)
  t.match((await broker.send('GET', '/metrics')).text, /^rigel_storage_damaged_total 4$/m)
  await broker.endsInOrder(t)
  // One line for each thread that has met it, the front end and the partition, whose lines come by ways of their own.
  const lines = broker.output.match(/partition-0\/data\.mdb: the record at sequence \d+ cannot be read/g)
  t.equal(lines?.length, 2)
})

/** Changes what is stored in one partition while the broker is down. */
async function spoiled(broker: RunningBroker, spoil: (environment: Environment) => void): Promise<void> {
  await broker.end('SIGTERM')
  const environment = openEnvironment(`${broker.folder}/partition-0`, { ...storeSettings, readOnly: false })
  spoil(environment)
  await environment.root.close()
  asCopied(`${broker.folder}/partition-0`)
  await broker.run()
}

/** Flips bits of the first byte of the record at a place in the order of keys. */
function flip(database: Environment['notices'], at: number): void {
  const entry = [...database.getRange({})][at]
  if (!entry) throw new Error('there is no such record')
  // A key of one part is read as that part.
  database.putSync([entry.key].flat(), `!${entry.value.slice(1)}`)
}

test('what is damaged in an outbox is named once with its file and its key, and everything else is delivered', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const flags = ['-partitions', '1', '-notifRetryMin', '20', '-notifRetryMax', '50']
  const broker = await RunningBroker.start(t, flags)
  const subscribe = (type: string, path: string) =>
    broker.send('POST', '/v1/subscribeContext', {
      entities: [{ type, isPattern: 'true', id: '.*' }],
      reference: end.url(path),
      notifyConditions: [{ type: 'ONCHANGE' }],
    })
  await subscribe('Silo', '/alone')
  await subscribe('Tank', '/one')
  await subscribe('Tank', '/two')
  const types = ['Silo', 'Tank'] as const
  // What is long is stored once for all who are told of it.
  const value = { Silo: '1', Tank: 'x'.repeat(5000) }
  for (const type of types)
    for (let n = 0; n < 4; n += 1)
      await broker.update('APPEND', { type, id: `${type}${n}`, attributes: [{ name: 'a', value: value[type] }] })
  await until(() => end.received.length >= 12)
  await spoiled(broker, ({ notices, groups, shown, deliveryStats }) => {
    flip(notices, 1)
    flip(groups, 0)
    flip(shown, 6)
    flip(deliveryStats, 0)
  })
  end.received.length = 0
  end.respond = responding(200)
  const came = (): readonly string[] =>
    [...new Set(end.received.map(({ url, body }) => `${url} ${/"id":"(\w+)"/.exec(body)?.[1]}`))].sort()
  const rest = ['/alone Silo0', '/alone Silo2', '/alone Silo3', '/one Tank1', '/one Tank2', '/two Tank1', '/two Tank2']
  await until(
    () => came().length >= rest.length,
    () => `${rest}: ${came()}`,
  )
  t.same(came(), rest)
  const named = () => [...broker.output.matchAll(/data\.mdb: (.*?) cannot be read/g)].map(([, what]) => what)
  await until(() => named().length >= 5, 'all lines have come')
  const stats = 'what became of the notifications of subscription \\w+ before'
  // Of two subscriptions either may have its turn first.
  const notices = ['a group of notices from number 5 on', 'notice 11', 'notice 12', 'notice 2']
  t.match([...named()].sort(), [...notices, new RegExp(stats)])
  t.equal(named().length, 5)
  t.match((await broker.send('GET', '/metrics')).text, /^rigel_storage_damaged_total 5$/m)
  t.notMatch(broker.output, /worker:died/)
  await broker.endsInOrder(t)
})

test('a start that cannot read a subscription is refused with its id and the way out', async (t) => {
  const folder = t.testdir()
  const store = new MetadataStore(folder, storeSettings, () => {})
  t.teardown(() => store.close())
  await store.transact(
    { writes: [{ database: 'subscriptions', id: '5f0a1b2c3d4e5f6071829300', text: '{"id":' }] },
    true,
  )
  const message = /control\/data\.mdb: subscription 5f0a1b2c3d4e5f6071829300 cannot be read \(.+\): restore it/
  t.throws(() => store.subscriptions(), { message })
})

test('a number that the next numbers follow is not made up when it is damaged: the start is refused with its file', async (t) => {
  const folder = t.testdir()
  const { root: environment, facts } = openEnvironment(folder, { ...storeSettings, readOnly: false })
  facts.putSync(['notice'], '1x')
  await environment.close()
  const message = /data\.mdb: the number of the last notice is no number \(1x\): restore the data folder from a backup/
  t.throws(() => new PartitionStore(folder, storeSettings), { name: 'DamagedRecord', message })
  t.throws(() => new MetadataStore(folder, storeSettings, () => {}), { name: 'DamagedRecord', message })
})
