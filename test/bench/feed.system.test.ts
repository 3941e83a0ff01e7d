import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { brokers, linesOf, run, standIn } from './programs.js'

const small = ['--devices', '40', '--updates', '600', '--connections', '8']

for (const { name, main, skip } of brokers) {
  test(`${name} keeps what it acknowledged when it is killed at the end of a feed`, { skip }, async (t) => {
    const ended = await run('feed', '--broker', main, ...small)
    t.equal(ended.code, 0, ended.errors)
    const [line] = linesOf(ended, 'feed')
    t.match(line, { devices: 40, updates: 600, kills: 1, checked: 40, wrong: 0 })
    t.ok(Number(member(line, 'acknowledged')) >= 600)
    t.ok(Number(member(line, 'restart_to_first_answer_ms')) > 0)
  })

  test(`${name} keeps what it acknowledged when it is killed twice on the way`, { skip }, async (t) => {
    const ended = await run('feed', '--broker', main, '--kill-after', '300,100', ...small)
    t.equal(ended.code, 0, ended.errors)
    t.match(linesOf(ended, 'feed')[0], { kills: 2, checked: 120, wrong: 0 })
  })
}

test('a broker that forgets what it acknowledged is found out', async (t) => {
  const ended = await run('feed', '--broker', standIn, '--flags=-fault forgets', ...small)
  t.equal(ended.code, 1)
  t.ok(Number(member(linesOf(ended, 'feed')[0], 'wrong')) > 0)
  t.match(ended.errors, /bench-device-\d+: has 0 instead of \d+/)
})

test('a broker that applies a part of an update is found out', async (t) => {
  const ended = await run('feed', '--broker', standIn, '--flags=-fault tears', ...small)
  t.equal(ended.code, 1)
  t.match(linesOf(ended, 'feed')[0], { wrong: 40 })
  t.match(ended.errors, /parts of several updates/)
})

test('a refused update ends the feed', async (t) => {
  for (const fault of ['refuses', 'fails']) {
    const ended = await run('feed', '--broker', standIn, `--flags=-fault ${fault}`, ...small)
    t.equal(ended.code, 1)
    t.match(ended.errors, /was refused/)
  }
})

test('a wrong command line of the feed is told apart from a failure', async (t) => {
  const wrong = [
    ['--devices', '0'],
    ['--kill-after', '700', '--updates', '600'],
    ['word'],
    ['--url', 'x', '--kill-after', '1'],
  ]
  for (const argv of wrong) t.equal((await run('feed', ...argv)).code, 2, argv.join(' '))
})
