import { test } from 'tap'
import { ClockSkew } from '../../src/storage/etcd/clock-skew.js'

test('the least of ten seconds is the skew of two clocks, and ways that were long do not count', async (t) => {
  const skew = new ClockSkew()
  const took = (seconds: number, way_ms: number, ahead_ms = 0): number | undefined =>
    skew.took(seconds * 1000, seconds * 1000 + way_ms + ahead_ms)
  t.equal(took(0, 900, 300), undefined)
  t.equal(took(4, 10, 300), undefined)
  t.equal(took(10, 500, 300), undefined, 'ten seconds after the first one came')
  t.equal(took(12, 700, 300), 310)
  t.equal(took(20, 5, -400), undefined, 'the next ones are looked at by themselves')
  t.equal(took(31, 8, -400), -395)
})

test('a clock that is set back ends what was looked at', async (t) => {
  const skew = new ClockSkew()
  t.equal(skew.took(1000, 1010), undefined)
  t.equal(skew.took(2000, 900), -1100)
})
