import { test } from 'tap'
import { openEnvironment } from '../../src/lmdb/environment.js'
import { PartitionReader } from '../../src/lmdb/partition-reader.js'
import { LmdbPartitionStore } from '../../src/lmdb/partition-store.js'
import { command, given, matcher, noWords, storeSettings, takeTurn, tenant, versions } from '../given.js'

test('what was stored before types of attributes were counted is counted when the folder is opened', async (t) => {
  const folder = t.testdir()
  const store = new LmdbPartitionStore(folder, storeSettings)
  takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, [
    command('APPEND', 'A', [given('heat', 1, { type: 'Float' }), given('lid', 'open', { type: '' })]),
    command('APPEND', 'B', [given('heat', 1, { type: 'Float' })]),
  ])
  await store.close()

  const before = openEnvironment(folder, { ...storeSettings, readOnly: false }, true)
  for (const key of before.attributeTypes.getKeys()) before.attributeTypes.removeSync(key)
  before.facts.removeSync(['attributeTypes'])
  await before.root.close()

  const reopened = new LmdbPartitionStore(folder, storeSettings)
  t.teardown(() => reopened.close())
  const reader = new PartitionReader(folder, storeSettings, versions())
  t.teardown(() => reader.close())
  const snapshot = reader.snapshot()
  t.same(
    [...snapshot.attributeTypes(tenant)].map(({ attribute, attributeType }) => [attribute, attributeType]),
    [
      ['heat', 'Float'],
      ['lid', 'Text'],
    ],
  )
  snapshot.close()
})
