import fs from 'node:fs'
import { test } from 'tap'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { diskOf } from '../disk-left.js'
import { command, given, matcher, noWords, storeSettings, takeTurn, versions } from '../given.js'

const MiB = 2 ** 20

test('what may not fit on the disk beside as much of the other writers is refused before it stands in the log', async (t) => {
  const disk = diskOf(t)
  const store = new PartitionStore(t.testdir(), { ...storeSettings, keepFree_bytes: 4 * MiB, writers: 257 })
  t.teardown(() => store.close())
  const append = (id: string, characters: number) => {
    const update = command('APPEND', id, [given('text', 'x'.repeat(characters))])
    takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, [update])
  }
  disk.left_bytes = 7 * MiB
  const { last } = store.wal
  t.throws(() => append('Large', 1.5 * MiB), { message: 'the disk is full' })
  t.equal(store.wal.last, last, 'nothing was logged')
  append('Small', 10_000)
  t.equal(store.wal.last, last + 1)
  // Others have what is kept free, and no more, however many they are.
  disk.left_bytes = 8 * MiB
  append('Large', 1.5 * MiB)
  t.equal(store.entityCount, 2)
})

test('near its end a disk is not filled by a log that reserves space ahead', async (t) => {
  const disk = diskOf(t)
  const folder = t.testdir()
  const store = new PartitionStore(folder, { ...storeSettings, keepFree_bytes: 0 })
  t.teardown(() => store.close())
  const segment = () => {
    const [name = ''] = fs.readdirSync(`${folder}/log`)
    return fs.statSync(`${folder}/log/${name}`).size
  }
  const append = (characters: number) => {
    const update = command('APPEND', 'Book', [given('text', 'x'.repeat(characters))])
    takeTurn({ store, interpret: noWords, matcher: matcher(), versions: versions() }, [update])
  }
  append(2 * MiB)
  const before = segment()
  disk.left_bytes = 6 * MiB
  append(10_000)
  const more = segment() - before
  t.ok(more > 10_000 && more < MiB, `${more} bytes more`)
})
