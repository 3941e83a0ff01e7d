import { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { StoredFolder } from '../../src/data/offline/offline-folder.js'
import { lockDataFolder } from '../../src/storage/folder/data-folder-lock.js'

const limits = { sizeMax_bytes: 2 ** 28, keepFree_bytes: 0 }

test('the last step of a command comes before its folder is released', async (t) => {
  const path = join(t.testdir({}), 'data')
  const stored = await StoredFolder.open({ path, make: { partitions: 1 }, ...limits })

  await stored.close(() => {
    const lock = lockDataFolder(path)
    if (lock.ok) lock.value.release()
    t.notOk(lock.ok, 'nobody else gets the folder in between')
  })

  const lock = lockDataFolder(path)
  t.ok(lock.ok, 'and then it is free')
  if (lock.ok) lock.value.release()
})

test('a folder is released when the last step fails', async (t) => {
  const path = join(t.testdir({}), 'data')
  const stored = await StoredFolder.open({ path, make: { partitions: 1 }, ...limits })
  const failing = () => {
    throw new Error('no swap')
  }
  await t.rejects(stored.close(failing), { message: 'no swap' })
  const again = await StoredFolder.open({ path, make: false, ...limits })
  t.equal(again.entityCount, 0)
  await again.close()
})

test('a command finishes a swap that was interrupted when the format was in neither place', async (t) => {
  const path = join(t.testdir({}), 'data')
  await (await StoredFolder.open({ path, make: { partitions: 1 }, ...limits })).close()
  mkdirSync(join(path, 'next'))
  renameSync(join(path, 'format.json'), join(path, 'next', 'format.json'))
  const members = ['format.json']
  writeFileSync(
    join(path, 'swap.json'),
    JSON.stringify({ source: 'next', leaving: [], entering: members, moved: false }),
  )

  const stored = await StoredFolder.open({ path, make: false, ...limits })
  t.equal(stored.partitions.length, 1)
  await stored.close()
})

/** Files that this process has open. */
function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)]
    } catch {
      return [] // The one that lists them.
    }
  })
}

const hasDescriptors = existsSync('/proc/self/fd') ? {} : { skip: 'the system does not say what is open' }

test('a folder of which one store cannot be opened leaves the others closed', hasDescriptors, async (t) => {
  const path = join(t.testdir({}), 'data')
  await (await StoredFolder.open({ path, make: { partitions: 2 }, ...limits })).close()
  const log = join(path, 'control', 'log')
  rmSync(log, { recursive: true })
  writeFileSync(log, 'no folder')
  await t.rejects(StoredFolder.open({ path, make: false, ...limits }), /data cannot be used/)
  t.same(
    openFiles().filter((file) => file.startsWith(join(path, 'partition-'))),
    [],
  )
})
