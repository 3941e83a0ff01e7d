import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { columns, linesFrom, linesOf, own, run, short, standIn } from './programs.js'

test('start has restarts after an orderly end, on logs of given lengths and after a SIGKILL', {
  skip: own.skip,
}, async (t) => {
  const lines = await linesFrom(t, 'start', '--sizes', '20', '--logs', '1')
  const cases = ['restart', 'restart, log of 1 MiB', 'restart after SIGKILL under load']
  t.same(
    columns(lines, 'case', 'entities'),
    cases.map((name) => [name, 20]),
  )
  for (const line of lines) t.ok(Number(member(line, 'start_to_answer_ms')) > 0)
  const [restart, replayed, killed] = lines
  // The memory of mapped files is told apart only there.
  if (process.platform === 'linux') {
    t.ok(Number(member(restart, 'resident_MiB')) > 10)
    t.ok(Number(member(restart, 'resident_loaded_MiB')) > 10)
  }
  const log_MiB = Number(member(replayed, 'log_MiB'))
  t.ok(
    log_MiB >= 1 && log_MiB < 1.1,
    `what was asked for is replayed, no less and no more than a turn above it: ${log_MiB}`,
  )
  t.type(member(killed, 'log_MiB'), 'number')
})

test('the log of a broker that was not built with this program is left alone', async (t) => {
  const ended = await run('run', 'start', '--broker', standIn, '--sizes', '20', ...short)
  t.equal(ended.code, 0, ended.errors)
  t.same(columns(linesOf(ended, 'start'), 'case'), [['restart']])
  t.match(ended.errors, /Left out, .* has a known log: recovery/)
})
