import { test } from 'tap'
import { Random } from '../fuzz/random.js'
import { readFrom } from './given.js'
import { sector_bytes } from './simulated-content.js'
import { Crash, type EventOutcome, SimulatedDisk } from './simulated-disk.js'

/** What is found, over many disks, after something was done to each and its power went. */
function found(act: (on: SimulatedDisk) => void): ReadonlySet<string> {
  const texts = Array.from({ length: 200 }, (_, seed) => {
    const on = new SimulatedDisk(new Random(seed))
    act(on)
    on.restart('power')
    return on
      .names()
      .toSorted()
      .map((name) => `${name}: ${readFrom(on.open(name), 0, 4096).toString().replaceAll('\0', '0')}`)
      .join(', ')
  })
  return new Set(texts)
}

const [a, b, c] = ['a', 'b', 'c'].map((letter) => letter.repeat(sector_bytes))
const zeros = '0'.repeat(sector_bytes)

/** Makes a file of which everything is on disk. */
function flushed(on: SimulatedDisk, text = ''): ReturnType<SimulatedDisk['open']> {
  const file = on.open('f')
  file.write(0, Buffer.from(text))
  file.flush()
  on.flush()
  return file
}

test('what is flushed is there after a loss of power, in a folder that is flushed', async (t) => {
  t.same([...found((on) => flushed(on, 'abc'))], ['f: abc'])
  t.same([...found((on) => flushed(on, 'abc').write(0, Buffer.alloc(0)))], ['f: abc'])
})

test('of sectors that are not flushed, any are lost, and the size may be', async (t) => {
  const sectors = found((on) => flushed(on, `${a}${a}`).write(0, Buffer.from(`${b}${b}`)))
  t.same([...sectors].toSorted(), [`f: ${a}${a}`, `f: ${a}${b}`, `f: ${b}${a}`, `f: ${b}${b}`].toSorted())
  const sizes = found((on) => flushed(on, `${a}`).write(sector_bytes, Buffer.from(`${b}`)))
  t.same([...sizes].toSorted(), [`f: ${a}`, `f: ${a}${zeros}`, `f: ${a}${b}`].toSorted())
})

test('a sector may be as it was after any of its writes', async (t) => {
  const versions = found((on) => {
    const file = flushed(on, `${a}`)
    file.write(0, Buffer.from(`${b}`))
    file.write(0, Buffer.from(`${c}`))
  })
  t.same([...versions].toSorted(), [`f: ${a}`, `f: ${b}`, `f: ${c}`])
})

test('names that are not flushed may be lost', async (t) => {
  t.same([...found((on) => on.open('g'))].toSorted(), ['', 'g: '])
  const renamed = found((on) => {
    flushed(on, 'abc')
    on.rename('f', 'g')
  })
  t.same([...renamed].toSorted(), ['f: abc', 'g: abc'])
  const removed = found((on) => {
    flushed(on, 'abc')
    on.remove('f')
  })
  t.same([...removed].toSorted(), ['', 'f: abc'])
})

test('a flush in the pool brings to disk what was written before it began', async (t) => {
  const on = new SimulatedDisk(new Random(1))
  const file = flushed(on, `${a}`)
  file.write(0, Buffer.from(`${b}`))
  const flush = file.flushInPool()
  file.write(sector_bytes, Buffer.from(`${c}`))
  on.endFlushes()
  await flush
  on.restart('power')
  t.equal(readFrom(on.open('f'), 0, sector_bytes).toString(), b)
})

test('a machine that has crashed does nothing until it is restarted, and closes its files', async (t) => {
  const on = new SimulatedDisk(new Random(1))
  const file = flushed(on, 'abc')
  on.outcome = () => 'crash'
  t.throws(() => file.write(0, Buffer.from('x')), Crash)
  t.ok(on.isDown)
  on.outcome = () => 'works'
  for (const act of [() => on.open('g'), () => on.flush(), () => file.flush()]) t.throws(act, Crash)
  on.restart('process')
  t.throws(() => file.flush(), { code: 'EBADF' })
  t.match(readFrom(on.open('f'), 0, 3).toString(), /^[ax]bc$/)
})

test('after a flush that fails, processes see what the disk does not have', async (t) => {
  const seen = found((on) => {
    const file = flushed(on, `${a}`)
    file.write(0, Buffer.from(`${b}`))
    on.outcome = ({ kind }): EventOutcome => (kind === 'flush' ? 'EIO' : 'works')
    t.throws(() => file.flush(), { code: 'EIO' })
    on.outcome = () => 'works'
    t.equal(readFrom(file, 0, sector_bytes).toString(), b)
    file.flush()
  })
  t.same([...seen].toSorted(), [`f: ${a}`, `f: ${b}`])
})
