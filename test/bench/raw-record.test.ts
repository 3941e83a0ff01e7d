import { join } from 'node:path'
import { test } from 'tap'
import { BrokerProcess, DataFolder } from '../../bench/broker-process.js'
import { createDevices } from '../../bench/fleet.js'
import { rawRecord } from '../../bench/raw-record.js'
import type { Tenant } from '../../src/model/context/entity.js'
import { openEnvironment } from '../../src/storage/environment/environment.js'
import { recordsOf } from '../../src/storage/records/keys.js'
import { decodeEntity } from '../../src/storage/records/record.js'
import { own } from './programs.js'

test('what batches are compared with is what the broker stores', { skip: own.skip }, async (t) => {
  const folder = new DataFolder()
  t.teardown(() => folder.remove())
  const broker = await BrokerProcess.start({ main: own.main, folder, flags: ['-partitions', '1'] })
  await createDevices(broker.url, 1, 123_456_789)
  await broker.end()

  const settings = { readOnly: true, sizeMax_bytes: 2 ** 24, durable: true, maxReaders: 4 }
  const environment = openEnvironment(join(folder.path, 'partition-0'), settings)
  t.teardown(() => environment.root.close())
  const [stored] = [...environment.records.getRange(recordsOf('' as Tenant, 0))].map(({ value }) => value)
  const { created, sequence, correlator } = decodeEntity(stored ?? '')
  t.equal(rawRecord(sequence - 1, 123_456_789, created, correlator), stored)
})
