import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { StoredFolder } from '../../src/data/offline/offline-folder.js'
import { claimFolder } from '../../src/storage/folder/folder-claim.js'

const limits = { sizeMax_bytes: 2 ** 28, keepFree_bytes: 0 }

test('the last step of a command comes before its folder is released', async (t) => {
  const path = join(t.testdir({}), 'data')
  const stored = await StoredFolder.open({ path, make: { partitions: 1 }, ...limits })

  await stored.close(() => {
    const claim = claimFolder(path)
    if (claim.ok) claim.value.release()
    t.notOk(claim.ok, 'nobody else gets the folder in between')
  })

  const claim = claimFolder(path)
  t.ok(claim.ok, 'and then it is free')
  if (claim.ok) claim.value.release()
})

test('a folder is released when the last step fails', async (t) => {
  const path = join(t.testdir({}), 'data')
  const stored = await StoredFolder.open({ path, make: { partitions: 1 }, ...limits })
  const failing = () => {
    throw new Error('no exchange')
  }
  await t.rejects(stored.close(failing), { message: 'no exchange' })
  const again = await StoredFolder.open({ path, make: false, ...limits })
  t.equal(again.entityCount, 0)
  await again.close()
})

test('a command finishes an exchange that was interrupted when the format was in neither place', async (t) => {
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
