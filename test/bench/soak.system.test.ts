import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { linesOf, run } from './programs.js'

const small = ['--minutes', '0.03', '--interval', '0.3', '--connections', '4', '--devices', '100']

test('a soak says what the process uses while it runs, and whether that stayed as it was', async (t) => {
  // In its first seconds every process grows: how much is no question of a short run.
  const ended = await run('soak', ...small, '--tolerance', '10000')
  t.equal(ended.code, 0, ended.errors)
  const [line] = linesOf(ended, 'soak')
  t.match(line, { refused: 0, lost: 0, steady: true })
  // Each connection has one answered before it ends; in the last intervals there may be none on a disk that stands still.
  t.ok(Number(member(line, 'requests')) >= 4)
  t.type(member(line, 'p99_ms'), 'number')
})

test('a soak fails when more changes than may', async (t) => {
  const ended = await run('soak', ...small, '--tolerance', '0.000001', '--connections', '2')
  t.match(linesOf(ended, 'soak')[0], { steady: ended.code === 0 })
})

test('a wrong command line of a soak ends with 2', async (t) => {
  t.equal((await run('soak', '--minutes', 'x')).code, 2)
})
