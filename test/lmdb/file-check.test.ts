import { randomBytes } from 'node:crypto'
import { copyFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'tap'
import { damageOf } from '../../src/storage/environment/file-check.js'
import { runs } from '../runs.js'
import { bytesAt, cut, filled, made, overwritten, tried } from './given-folder.js'

const everyPage = 2 ** 30
const pageSize = 4096

test('a sound file is sound, after any number of transactions', async (t) => {
  const folder = t.testdir()
  for (let round = 0; round < 5; round += 1) {
    await filled(folder, 50 + 700 * round)
    for (const bytes of [0, everyPage]) t.equal(damageOf(join(folder, 'data.mdb'), bytes), undefined)
  }
})

test('whoever waits for a check hears of each page, so that a large file is not taken for a disk that does not answer', async (t) => {
  const folder = t.testdir()
  await filled(folder, 3000)
  const file = join(folder, 'data.mdb')
  let pages = 0
  damageOf(file, everyPage, () => {
    pages += 1
  })
  t.ok(pages > 20, `${pages} pages`)
  t.ok(pages <= statSync(file).size / pageSize)
})

test('a file that is none, is empty, or has lost its end is damaged', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'data.mdb')
  await filled(folder, 3000)
  for (const part of [0.99, 0.5, 0.1]) {
    cut(file, part)
    for (const bytes of [0, everyPage]) t.match(damageOf(file, bytes), { what: /its end is missing/ }, `${part}`)
  }
  truncateSync(file, pageSize + 100)
  t.match(damageOf(file, 0), { what: /its end is missing/ })
  truncateSync(file, 0)
  t.match(damageOf(file, 0), { what: 'it is empty' })
  writeFileSync(file, 'this is no database '.repeat(1000))
  t.match(damageOf(file, 0), { what: 'its meta page 0 is none' })
})

test('meta pages of another version, or swapped, are damage', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'data.mdb')
  await filled(folder, 100)
  const metas = [bytesAt(file, 0, pageSize), bytesAt(file, pageSize, pageSize)]
  const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = metas
  overwritten(file, 0, second)
  t.match(damageOf(file, 0), { what: 'its meta page 0 is none' })
  overwritten(file, 0, first)
  overwritten(file, pageSize, first)
  t.match(damageOf(file, 0), { what: 'its meta page 1 is none' })
  overwritten(file, pageSize, second)
  overwritten(file, 28, Buffer.from([1]))
  t.match(damageOf(file, 0), { what: 'its meta page 0 is none' })
})

test('two pages that were swapped, or a page of zeros, are damage', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'data.mdb')
  await filled(folder, 1000)
  const pages = statSync(file).size / pageSize
  let found = 0
  for (let page = 2; page < pages; page += 1) {
    const own = bytesAt(file, page * pageSize, pageSize)
    overwritten(file, page * pageSize, Buffer.alloc(pageSize))
    if (damageOf(file, everyPage)) found += 1
    overwritten(file, page * pageSize, bytesAt(file, 5 * pageSize, pageSize))
    if (damageOf(file, everyPage)) found += 1
    overwritten(file, page * pageSize, own)
  }
  t.equal(damageOf(file, everyPage), undefined)
  t.ok(found > pages, `${found} of ${2 * pages} were found; the rest are free pages and the insides of large values`)
})

test('no damage, however odd, is more than damage', async (t) => {
  const folder = t.testdir()
  const [file, copy] = [join(folder, 'data.mdb'), join(folder, 'copy')]
  await filled(folder, 500)
  const { size } = statSync(file)
  const bytes = fc.array(fc.tuple(fc.nat(size - 8), fc.uint8Array({ minLength: 1, maxLength: 8 })), { minLength: 1 })
  const heads = fc.array(
    fc.tuple(
      fc.tuple(fc.nat(size / pageSize - 1), fc.nat(200)).map(([page, at]) => page * pageSize + at),
      fc.uint8Array({ minLength: 1, maxLength: 8 }),
    ),
    { minLength: 1 },
  )
  fc.assert(
    fc.property(fc.oneof(bytes, heads), fc.boolean(), (damages, all) => {
      copyFileSync(file, copy)
      for (const [at, damage] of damages) overwritten(copy, at, damage)
      const found = damageOf(copy, all ? everyPage : 0)
      return found === undefined || found.what !== ''
    }),
    { numRuns: runs(300) },
  )
})

test('a folder with a damaged file is refused, with the name of the file and the way out', async (t) => {
  const folder = t.testdir()
  await made(folder, 2)
  await filled(join(folder, 'partition-1'), 3000)
  const file = join(folder, 'partition-1', 'data.mdb')
  t.equal(await tried(folder), 'opened')
  cut(file, 0.5)
  const line = await tried(folder)
  t.ok(line.startsWith(`${file} is damaged (it has `), line)
  t.ok(line.endsWith('restore the folder from a backup, or start with an empty -dbPath'), line)
  overwritten(file, 0, randomBytes(64))
  t.match(await tried(folder), /is damaged \(its meta page 0 is none\)/)
})
