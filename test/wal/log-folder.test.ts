import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { DiskLogFolder } from '../../src/storage/wal/log-folder.js'
import { readFrom } from './given.js'

test('a folder is made with those above it, and one that is there is used', async (t) => {
  const path = `${t.testdir()}/a/b/log`
  const folder = new DiskLogFolder(path)
  t.same(folder.names(), [])
  folder.open('x').close()
  t.same(new DiskLogFolder(path).names(), ['x'])
})

test('files are made, read, written, renamed and removed', async (t) => {
  const folder = new DiskLogFolder(t.testdir({ kept: 'abc' }))
  const file = folder.open('kept')
  file.write(2, Buffer.from('xyz'))
  t.same([file.size_bytes, readFrom(file, 1, 100).toString()], [5, 'bxyz'])
  t.equal(readFrom(file, 9, 10).length, 0)
  file.write(7, Buffer.from('!'))
  t.same(readFrom(file, 4, 4), Buffer.from('z\0\0!'))
  file.flush()
  file.close()
  folder.rename('kept', 'moved')
  folder.flush()
  t.same(folder.names(), ['moved'])
  folder.remove('moved')
  t.same(folder.names(), [])
  t.throws(() => folder.rename('moved', 'kept'), { code: 'ENOENT' })
  t.throws(() => folder.remove('moved'), { code: 'ENOENT' })
})

test('a file that is closed while it is flushed in the pool is closed after that', async (t) => {
  const path = t.testdir()
  const file = new DiskLogFolder(path).open('x')
  file.write(0, Buffer.from('abc'))
  const flushes = [file.flushInPool(), file.flushInPool()]
  file.close()
  t.equal(file.size_bytes, 3, 'its handle is open')
  await Promise.all(flushes)
  t.throws(() => file.size_bytes, { code: 'EBADF' })
  t.equal(openAt(path), 0, 'and so are all its handles')
})

test('what is open of a file and of a folder that was flushed is all that they take', async (t) => {
  const path = t.testdir()
  const folder = new DiskLogFolder(path)
  const file = folder.open('x')
  folder.flush()
  const open = openAt(path)
  file.write(0, Buffer.from('abc'))
  file.flush()
  await file.flushInPool()
  folder.flush()
  t.equal(openAt(path), open)
  file.close()
  folder.close()
  t.equal(openAt(path), 0)
})

/** How many files at a path this process has open. */
function openAt(path: string): number {
  return readdirSync('/proc/self/fd').filter((each) => isOpenAt(each, path)).length
}

function isOpenAt(handle: string, path: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${handle}`).startsWith(path)
  } catch {
    return false // It was that of the listing.
  }
}

test('what cannot be a folder or a file is a fault', async (t) => {
  const path = t.testdir({ folder: {} })
  writeFileSync(`${path}/file`, '')
  t.throws(() => new DiskLogFolder(`${path}/file`), { code: 'EEXIST' })
  t.throws(() => new DiskLogFolder(path).open('folder'), { code: 'EISDIR' })
})
