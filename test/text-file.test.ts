import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { readTextFile } from '../src/text-file.js'

test('a file is read up to its limit, and a longer one is refused', async (t) => {
  const file = join(t.testdir(), 'text')
  for (const length of [0, 1, 9999, 10_000]) {
    writeFileSync(file, 'x'.repeat(length))
    t.equal(readTextFile(file, 10_000), 'x'.repeat(length))
  }
  writeFileSync(file, 'x'.repeat(10_001))
  t.throws(() => readTextFile(file, 10_000), { message: 'it has more than 10000 bytes' })
})

test('a file of the system, which says that it is empty, is read', async (t) => {
  t.match(readTextFile('/proc/self/status'), /^Name:/)
})

test('what is no file is not waited for', async (t) => {
  const folder = t.testdir()
  execFileSync('mkfifo', [join(folder, 'pipe')])
  for (const path of ['/dev/zero', join(folder, 'pipe')]) {
    t.throws(() => readTextFile(path), { message: 'it is no regular file' }, path)
  }
  t.throws(() => readTextFile(folder), { code: 'EISDIR' })
  t.throws(() => readTextFile(join(folder, 'none')), { code: 'ENOENT' })
})
