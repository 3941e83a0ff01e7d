import { type Test, test } from 'tap'
import { ControlStore } from '../../src/lmdb/control-store.js'
import { openEnvironment } from '../../src/lmdb/environment.js'
import { recordKey } from '../../src/lmdb/keys.js'
import { PartitionReader } from '../../src/lmdb/partition-reader.js'
import { LmdbPartitionStore } from '../../src/lmdb/partition-store.js'
import { scan } from '../../src/lmdb/scan.js'
import { takeTurn } from '../../src/partition/turn.js'
import { command, given, id, marks, noWords, path, query, storeSettings, tenant, wakes } from '../given.js'
import { RunningBroker } from '../running.js'

const root = path('/')
const limits = { page_bytes: 2 ** 20 }

/** What may become of the record of the first of two entities. */
const damages = [
  ['is missing', undefined, /data\.mdb: the record at place \d+ .*is missing, although an index names it: restore/],
  ['is cut off', '["Silo1","Silo","/",1', /data\.mdb: the record at place \d+ .*cannot be read \(.+\): restore/],
  ['is no record', 'xyz', /data\.mdb: the record at place \d+ .*cannot be read \(.+\): restore/],
] as const

async function damaged(t: Test, text: string | undefined): Promise<string> {
  const folder = t.testdir()
  const store = new LmdbPartitionStore(folder, storeSettings)
  const parts = { store, interpret: noWords, wakes: wakes(), marks: marks() }
  const attributes = [given('level', '1')]
  takeTurn(parts, [command('APPEND', 'Silo1', attributes), command('APPEND', 'Silo2', attributes)])
  const place = store.entities(tenant, root, id('Silo1'))[0]?.place
  await store.close()
  if (place === undefined) throw new Error('there is no such entity')
  const environment = openEnvironment(folder, { ...storeSettings, readOnly: false })
  const key = recordKey(tenant, place)
  if (text === undefined) environment.records.removeSync(key)
  else environment.records.putSync(key, text)
  await environment.root.close()
  return folder
}

for (const [what, text, message] of damages) {
  test(`a record that ${what} is a fault that names it for all who read it, and other entities go on`, async (t) => {
    const folder = await damaged(t, text)
    const store = new LmdbPartitionStore(folder, storeSettings)
    const reader = new PartitionReader(folder, storeSettings, marks())
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
    for (const asked of [exact, sorted]) {
      const snapshot = reader.snapshot()
      await t.rejects(scan([snapshot], asked, limits), { name: 'DamagedRecord', message })
      snapshot.close()
    }
  })
}

test('a record that cannot be read is 500 for those who ask for it, and its line says where it is', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1'])
  for (const name of ['Silo1', 'Silo2'])
    await broker.update('APPEND', { id: name, attributes: [{ name: 'a', value: '1' }] })
  t.equal(await broker.end('SIGTERM'), 0)
  const environment = openEnvironment(`${broker.folder}/partition-0`, { ...storeSettings, readOnly: false })
  const [first] = environment.records.getRange({})
  if (!first) throw new Error('nothing was stored')
  await environment.records.put(first.key, '["Silo1","","/",')
  await environment.root.close()
  await broker.run()
  t.equal((await broker.send('GET', '/v1/contextEntities/Silo1')).status, 500)
  t.equal((await broker.send('GET', '/v1/contextEntities')).status, 500)
  t.equal((await broker.update('UPDATE', { id: 'Silo1', attributes: [{ name: 'a', value: '2' }] })).status, 500)
  t.equal((await broker.send('GET', '/v1/contextEntities/Silo2')).status, 200)
  t.match(broker.output, /partition-0\/data\.mdb: the record at place \d+ cannot be read/)
  t.equal(await broker.end('SIGTERM'), 0)
})

test('a start that cannot read a subscription is refused with its id and the way out', async (t) => {
  const folder = t.testdir()
  const store = new ControlStore(folder, storeSettings, () => {})
  t.teardown(() => store.close())
  await store.transact(() => store.database('subscriptions').putSync(['5f0a1b2c3d4e5f6071829300'], '{"id":'), true)
  const message = /control\/data\.mdb: subscription 5f0a1b2c3d4e5f6071829300 cannot be read \(.+\): restore it/
  t.throws(() => store.subscriptions(), { message })
})
