import { test } from 'tap'
import { DiskFault } from '../../src/faults.js'
import { head_bytes } from '../../src/storage/wal/frame.js'
import { Random } from '../fuzz/random.js'
import { append, appendInPool, begun, half, nth, opening_bytes, readFrom, reopened, small, textsIn } from './given.js'
import { type DiskEvent, type EventOutcome, SimulatedDisk } from './simulated-disk.js'

function disk(): SimulatedDisk {
  return new SimulatedDisk(new Random(1))
}

/** Lets the events that are chosen fail, each time; gives what ends that. */
function failing(on: SimulatedDisk, outcome: EventOutcome, isChosen: (event: DiskEvent) => boolean): () => void {
  on.outcome = (event) => (isChosen(event) ? outcome : 'works')
  return () => {
    on.outcome = () => 'works'
  }
}

const full = { ok: false, error: { kind: 'diskFull' } }

for (const outcome of ['ENOSPC', 'EDQUOT', 'EFBIG'] as const) {
  test(`whatever write finds ${outcome} refuses the record, and the next one is taken when there is space`, async (t) => {
    const places: Readonly<Record<string, (event: DiskEvent) => boolean>> = {
      growth: (event) => event.kind === 'write' && event.grows,
      // Where a file system writes to another place, overwriting takes space as well.
      'every write': (event) => event.kind === 'write',
      'a new segment': (event) => event.kind === 'make' || event.kind === 'rename',
    }
    for (const [place, isChosen] of Object.entries(places)) {
      const on = disk()
      const log = begun(on)
      const { position } = log
      append(log, half('a'), 'b')
      const end = failing(on, outcome, isChosen)
      for (let n = 0; n < 3; n += 1) t.same(log.appendSync(nth(2), Buffer.alloc(5000, 'x')), full, place)
      t.equal(log.last, 2)
      end()
      append(log, half('c'), half('d'))
      on.restart('power')
      t.same(textsIn(reopened(on, position)), [half('a'), 'b', half('c'), half('d')], place)
    }
  })
}

test('a record of which a part was written and refused is not made whole by the zeros of the next growth', async (t) => {
  // Which part is written depends on the seed.
  for (let seed = 0; seed < 40; seed += 1) {
    const on = new SimulatedDisk(new Random(seed))
    const log = begun(on)
    const { position } = log
    failing(on, 'ENOSPC', (event) => event.kind === 'write' && event.length > head_bytes)
    t.same(log.appendSync(nth(0), Buffer.alloc(1000)), full)
    const end = failing(on, 'crash', (event) => event.kind === 'write' && event.offset === opening_bytes)
    t.throws(() => append(log, half('a')))
    end()
    on.restart('process')
    t.not(textsIn(reopened(on, position))[0]?.length, 1000, `seed ${seed}`)
  }
})

test('no part of a refused record stays, which the next one could complete', async (t) => {
  for (let seed = 0; seed < 50; seed += 1) {
    const on = new SimulatedDisk(new Random(seed))
    const log = begun(on)
    append(log, 'one')
    const { offset } = log.position
    const end = failing(on, 'ENOSPC', (event) => event.kind === 'write' && event.length > head_bytes)
    t.same(log.appendSync(nth(1), Buffer.from('two')), full)
    end()
    on.restart('power')
    const [name = ''] = on.names()
    t.same(readFrom(on.open(name), offset, head_bytes), Buffer.alloc(head_bytes), `seed ${seed}`)
  }
})

test('records that have extended their file are not overwritten when it grows', async (t) => {
  const on = disk()
  const log = begun(on, { ...small, segment_bytes: 2 ** 20 })
  const { position } = log
  append(log, 'one')
  const { offset } = log.position
  // There is space for the record, but not for what would be written ahead of it.
  const end = failing(on, 'ENOSPC', (event) => event.kind === 'write' && event.offset > offset)
  const long = 'x'.repeat(2 ** 18)
  append(log, long)
  end()
  append(log, 'three')
  on.restart('power')
  t.same(textsIn(reopened(on, position)), ['one', long, 'three'])
})

test('a spare segment that cannot be renamed is one still', async (t) => {
  const on = disk()
  const log = begun(on)
  append(log, half('a'), half('b'), half('c'), half('d'))
  const end = failing(on, 'ENOSPC', ({ kind }) => kind === 'rename')
  log.truncate(nth(4))
  t.same(on.names(), ['0000000000000001.log', '0000000000000003.log'], 'it is given up the next time')
  end()
  log.truncate(nth(4))
  failing(on, 'ENOSPC', ({ kind }) => kind === 'rename')
  t.same(log.appendSync(nth(4), Buffer.from('e')), full)
  on.outcome = () => 'works'
  append(log, 'e')
  t.same(on.names().toSorted(), ['0000000000000003.log', '0000000000000005.log'])
})

test('where a file ends with a part of a refused record, a write that is interrupted afterwards is no damage', async (t) => {
  let grown = 0
  for (let seed = 0; seed < 200; seed += 1) {
    const on = new SimulatedDisk(new Random(seed))
    const log = begun(on)
    const { position } = log
    const length = on.open('0000000000000001.log').size_bytes
    failing(on, 'ENOSPC', (event) => event.kind === 'write' && event.grows)
    t.same(log.appendSync(nth(0), Buffer.alloc(8000, 'x')), full)
    if (on.open('0000000000000001.log').size_bytes > length) grown += 1
    failing(on, 'crash', (event) => event.kind === 'write' && event.offset === opening_bytes)
    t.throws(() => append(log, 'y'.repeat(300)))
    on.outcome = () => 'works'
    on.restart('power')
    t.ok(textsIn(reopened(on, position)).length <= 1, `seed ${seed}`)
  }
  t.ok(grown > 50, `${grown} files were extended by it`)
})

test('a record is not retracted once another segment was begun for one that was refused', async (t) => {
  const on = disk()
  const log = begun(on)
  append(log, half('a'))
  failing(
    on,
    'ENOSPC',
    (event) => event.kind === 'write' && event.length > head_bytes && !event.name.startsWith('spare-'),
  )
  t.same(log.appendSync(nth(1), Buffer.alloc(5000, 'x')), full)
  t.throws(() => log.retract(nth(1)), /can not be retracted/)
})

test('a log that can open no file goes on in the segment that it has, and takes all records', async (t) => {
  const on = disk()
  const log = begun(on)
  const { position } = log
  append(log, half('a'), half('b'))
  on.hasDescriptors = false
  append(log, half('c'))
  await appendInPool(on, log, half('d'))
  t.same(on.names(), ['0000000000000001.log'])
  on.hasDescriptors = true
  append(log, half('e'))
  t.same(on.names(), ['0000000000000001.log', '0000000000000005.log'])
  on.restart('power')
  t.same(textsIn(reopened(on, position)), ['a', 'b', 'c', 'd', 'e'].map(half))
})

test('any other failure, and any of a flush, is a fault that ends the log', async (t) => {
  const kinds: Readonly<Record<string, readonly [EventOutcome, (event: DiskEvent) => boolean]>> = {
    write: ['EIO', ({ kind }) => kind === 'write'],
    flush: ['EIO', ({ kind }) => kind === 'flush'],
    'flush without space': ['ENOSPC', ({ kind }) => kind === 'flush'],
    'new segment': ['EIO', ({ kind }) => kind === 'make'],
    'flush of the folder': ['ENOSPC', ({ kind }) => kind === 'flushFolder'],
  }
  for (const [what, [outcome, isChosen]] of Object.entries(kinds)) {
    const on = disk()
    const log = begun(on)
    append(log, half('a'))
    const end = failing(on, outcome, isChosen)
    t.throws(() => append(log, 'x'.repeat(5000)), DiskFault, what)
    end()
    t.throws(() => append(log, 'x'), DiskFault)
    t.throws(() => log.truncate(log.last), DiskFault)
    t.throws(() => log.close(), DiskFault)
  }
})

test('a flush in the pool that fails is the fault of its record and of all later ones', async (t) => {
  const on = disk()
  const log = begun(on)
  const end = failing(on, 'EIO', ({ kind }) => kind === 'flushInPool')
  await t.rejects(appendInPool(on, log, 'a'), DiskFault)
  end()
  await t.rejects(appendInPool(on, log, 'b'), DiskFault)
})

test('a flush in the pool vouches for nothing once another flush has failed', async (t) => {
  const on = disk()
  const log = begun(on)
  const appended = log.append(nth(0), Buffer.from('a'))
  // The kernel tells one of them only.
  const end = failing(on, 'EIO', ({ kind }) => kind === 'flush')
  t.throws(() => log.flush(), DiskFault)
  end()
  on.endFlushes()
  await t.rejects(appended, DiskFault)
})

test('a flush by the thread is told what a flush in the pool was not yet heard to be', async (t) => {
  const on = disk()
  const log = begun(on)
  const appended = log.append(nth(0), Buffer.from('a'))
  failing(on, 'EIO', ({ kind }) => kind === 'flushInPool')
  on.endFlushes()
  t.throws(() => log.flush(), DiskFault)
  await t.rejects(appended, DiskFault)
})

test('records that are not durable when they are appended are flushed by a timer, whose fault is told', async (t) => {
  const on = disk()
  const timers: (() => void)[] = []
  t.intercept(globalThis, 'setTimeout', { value: (fire: () => void) => timers.push(fire) })
  const faults: unknown[] = []
  const log = begun(on, { ...small, durable: false, failed: (fault) => faults.push(fault) })
  append(log, 'a', 'b')
  t.equal(timers.length, 1)
  const flushed: DiskEvent[] = []
  on.outcome = (event) => {
    flushed.push(event)
    return 'works'
  }
  timers.pop()?.()
  append(log, 'c')
  t.equal(timers.length, 0, 'there is one flush at a time')
  on.endFlushes()
  await new Promise((resolve) => setImmediate(resolve))
  t.same(flushed.filter(({ kind }) => kind === 'flushInPool').length, 1)
  t.equal(timers.length, 1, 'what came meanwhile is flushed after it')
  failing(on, 'EIO', ({ kind }) => kind === 'flushInPool')
  timers.pop()?.()
  on.endFlushes()
  await new Promise((resolve) => setImmediate(resolve))
  t.match(faults, [DiskFault])
})

test('a flush that began before a retraction does not vouch for the record that took the sequence', async (t) => {
  const on = disk()
  const timers: (() => void)[] = []
  t.intercept(globalThis, 'setTimeout', { value: (fire: () => void) => timers.push(fire) })
  const log = begun(on, { ...small, durable: false })
  const { position } = log
  append(log, 'a', 'b')
  timers.pop()?.()
  log.retract(nth(2))
  append(log, 'c')
  on.endFlushes()
  await new Promise((resolve) => setImmediate(resolve))
  append(log, 'd')
  // Of c, which was never flushed, the disk loses a part; d has reached it.
  const file = on.open('0000000000000001.log')
  file.write(opening_bytes + 40 + 32, Buffer.from('?'))
  on.restart('process')
  t.same(textsIn(reopened(on, position)), ['a'], 'it is not taken for damage')
})

test('a record that a failed flush has left in memory only is written again when the log is opened', async (t) => {
  for (let seed = 0; seed < 20; seed += 1) {
    const on = new SimulatedDisk(new Random(seed))
    const log = begun(on)
    const { position } = log
    append(log, 'a')
    const end = failing(on, 'EIO', ({ kind }) => kind === 'flush')
    t.throws(() => append(log, 'b'), DiskFault)
    end()
    on.restart('process')
    const again = reopened(on, position)
    t.same(textsIn(again), ['a', 'b'])
    append(again, 'c')
    on.restart('power')
    t.same(textsIn(reopened(on, position)), ['a', 'b', 'c'])
  }
})
