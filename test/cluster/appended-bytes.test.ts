import { test } from 'tap'
import { AppendedBytes } from '../../src/storage/etcd/appended-bytes.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'

const at = (sequence: number): LogSequence => sequence as LogSequence
const half_bytes = 2 ** 19

test('what stands behind a record is known to a step, also when what is before it is gone', async (t) => {
  const bytes = new AppendedBytes()
  for (let sequence = 1; sequence <= 20; sequence += 1) bytes.appended(at(sequence), half_bytes)
  t.equal(bytes.behind_bytes(at(20)), 0)
  t.equal(bytes.behind_bytes(at(19)), 2 * half_bytes, 'at most a step too much')
  t.equal(bytes.behind_bytes(at(10)), 10 * half_bytes)
  t.equal(bytes.behind_bytes(at(0)), 20 * half_bytes)
  bytes.truncated(at(11))
  t.equal(bytes.behind_bytes(at(11)), 10 * half_bytes)
  t.equal(bytes.behind_bytes(at(16)), 4 * half_bytes)
})
