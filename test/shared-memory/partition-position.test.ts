import { test } from 'tap'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { clockStart, type Milliseconds } from '../../src/time.js'

test('who waits for a record is told when it can be read, or that it cannot', async (t) => {
  // Whoever waits so does not keep a process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const memory = PartitionPosition.memory()
  const [writer, reader] = [new PartitionPosition(memory), new PartitionPosition(memory)]
  writer.applied(4)
  t.equal(await reader.reaches(4, 0), true)
  t.equal(await reader.reaches(5, 1), false)
  const waiting = reader.reaches(6, 60_000)
  writer.applied(5)
  writer.applied(6)
  t.equal(await waiting, true)
  t.equal(reader.appliedIndex, 6)
})

test('what is shown is confirmed until a moment that neither clock has passed', async (t) => {
  const position = new PartitionPosition(PartitionPosition.memory())
  const now = clockStart()
  t.notOk(position.isConfirmed())
  position.confirm(now, 60_000)
  t.ok(position.isConfirmed())
  position.confirm({ ...now, steady_ns: now.steady_ns - 60_000_000_000n }, 60_000)
  t.notOk(position.isConfirmed())
  position.confirm({ ...now, date: (now.date - 60_000) as Milliseconds }, 60_000)
  t.notOk(position.isConfirmed(), 'as after a sleep of the machine')
  position.confirm(now, 60_000)
  position.revoke()
  t.notOk(position.isConfirmed())
})
