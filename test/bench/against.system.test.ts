import { test } from 'tap'
import type { LoadResult } from '../../bench/load.js'
import { member } from '../../bench/ngsi.js'
import { inTurns, versus } from '../../bench/rounds.js'
import { areCompared, linesOf, run, short, standIn } from './programs.js'

test('what is measured, its reference and the other version take turns in every round', async (t) => {
  const order: string[] = []
  const contestant = (name: string) => async (round: number) => {
    order.push(`${name} ${round}`)
    return name.length * round
  }
  const turns = await inTurns(2, contestant('broker'), contestant('echo'), contestant('other'))
  t.same(order, ['broker 1', 'echo 1', 'other 1', 'broker 2', 'echo 2', 'other 2'])
  t.same(turns, { measured: [6, 12], reference: [4, 8], against: [5, 10] })
  t.same(await inTurns(1, contestant('broker')), { measured: [6], reference: [], against: [] })
})

test('a version stands to the other one by the medians of both', async (t) => {
  const round = (rate_per_s: number, p99_ms: number): LoadResult => ({
    sent: 1,
    answered: 1,
    rate_per_s,
    p50_ms: 1,
    p90_ms: 1,
    p99_ms,
    p999_ms: 9,
    max_ms: 9,
    generator_cpu_ratio: 0.1,
    failures: { status: 0, refused: 0, timedOut: 0, disconnected: 0 },
  })
  t.same(versus([round(300, 2), round(900, 5), round(200, 3)], [round(200, 6), round(100, 9), round(400, 4)]), {
    against_per_s: 200,
    against_ratio: 1.5,
    against_p50_ms: 1,
    against_p99_ms: 6,
    against_p99_ratio: 0.5,
    against_spread: { against_per_s: [100, 400] },
  })
  t.same(versus([round(300, 2)], []), {})
})

test('ingest and read measure another version in the same run', async (t) => {
  const ended = await run('run', 'ingest', 'read', '--broker', standIn, '--against', standIn, ...short)
  t.equal(ended.code, 0, ended.errors)
  t.match(member(ended.lines[0], 'versions'), { broker: 'stand-in', against: 'stand-in' })
  const lines = [...linesOf(ended, 'ingest'), ...linesOf(ended, 'read')]
  t.equal(lines.length, 6)
  areCompared(t, lines)
})
