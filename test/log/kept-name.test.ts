import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import { alarmSubject, keptName } from '../../src/observe/log/secrets.js'
import { areAll } from '../runs.js'

test('a long name is cut, and still told apart from others', async (t) => {
  const long = 'x'.repeat(60_000)
  t.equal(keptName('10.2.0.9'), '10.2.0.9')
  t.equal(keptName('ü\ud800'), 'ü\ud800')
  t.equal(keptName(long), keptName(`${long}`))
  t.not(keptName(`${long}a`), keptName(`${long}b`))
  t.ok(keptName(long).length <= 256)
  t.match(keptName(long), /^x{200}\(\.\.\.\)[0-9a-f]{16}$/)
  const url = `http://user:${'p'.repeat(300)}@host/`
  t.equal(alarmSubject(url), 'http://***@host/', 'a secret is not cut but hidden')
})

test('names that others choose take few bytes, however many and long they are', async (t) => {
  const script = fileURLToPath(new URL('names-process.js', import.meta.url))
  // 200 or 600 MB of each kind come by.
  const words = ['--max-old-space-size=64', script, areAll ? '60000' : '20000']
  const { stdout } = await promisify(execFile)(process.execPath, words)
  t.same(JSON.parse(stdout), { raised: 10_000, active: 10_000, services: 10_000 })
})
