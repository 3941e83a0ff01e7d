import { test } from 'tap'
import { decodeClusterRecord, encodeClusterRecord } from '../../src/storage/etcd/cluster-record.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'

function at(sequence: number): LogSequence {
  return sequence as LogSequence
}

test('a record is read as it was written, with what was in force for its writer or without it', async (t) => {
  const records = [0, 1, 2 ** 40].map((metadataVersion) => ({
    ...({ kind: 'turn', epoch: at(7), time_ms: 1_700_000_000_000, node: 'node-ä' } as const),
    metadataVersion: at(metadataVersion),
    payload: Buffer.alloc(2000, 'x'),
  }))
  for (const record of records) {
    const { id, ...read } = decodeClusterRecord(encodeClusterRecord(record))
    t.equal(id.length, 16)
    t.same(read, record)
  }
})

test('the records of one node are those of earlier versions', async (t) => {
  const written = encodeClusterRecord({
    ...{ kind: 'idle', epoch: at(1), time_ms: 2, metadataVersion: at(0), node: 'n', payload: new Uint8Array() },
  })
  t.equal(written[0], 1)
  t.equal(written.length, 3 + 16 + 6 + 6 + 1 + 1)
  const later = Uint8Array.from(written)
  later[0] = 3
  t.throws(() => decodeClusterRecord(later), /no record of a cluster in format 1 or 2/)
})
