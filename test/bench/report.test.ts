import { test } from 'tap'
import { Ledger } from '../../bench/ledger.js'
import { median } from '../../bench/rounds.js'
import { table } from '../../bench/table.js'

test('a table has a column for each name of any line, with numbers to the right', async (t) => {
  const lines = [
    { case: 'first', rate_per_s: 12345.6789 },
    { case: 'second', rate_per_s: 7, note: 'slow' },
  ]
  t.equal(table(lines), ['case    rate_per_s  note', 'first   12,345.679', 'second           7  slow'].join('\n'))
})

test('the median is the middle, or the mean of the two in the middle', async (t) => {
  t.equal(median([3, 1, 2]), 2)
  t.equal(median([4, 1, 2, 3]), 2.5)
  t.equal(median([5]), 5)
})

test('a device may have what was acknowledged or what was under way, and nothing else', async (t) => {
  const ledger = new Ledger(2, 0)
  ledger.sent(0, 5)
  ledger.acknowledged(0, 5)
  ledger.sent(0, 6)
  t.equal(ledger.underWay, 1)
  t.same(ledger.compare(0, '0'), { kept: false, wrong: 'has 0 instead of 5 or 6' })
  t.same(ledger.compare(1, '0'), { kept: false })

  ledger.sent(0, 6)
  t.same(ledger.compare(0, '6'), { kept: true })
  t.same(ledger.compare(0, '5'), { kept: false, wrong: 'has 5 instead of 6' }, 'what was found is acknowledged')
  t.equal(ledger.underWay, 0)
})
