import { test } from 'tap'
import { missingBrowser } from '../../bench/chromium.js'
import { member } from '../../bench/ngsi.js'
import { columns, linesFrom, own } from './programs.js'

const missing = missingBrowser()
const options = { skip: own.skip === false ? (missing ?? false) : own.skip }

test('resources and pages of the console are measured', options, async (t) => {
  const small = ['--sizes', '400', '--subscriptions', '5', '--flags=-partitions 1']
  const lines = await linesFrom(t, 'console', ...small)
  const cases = columns(lines, 'case').map(([name]) => String(name))
  for (const expected of ['/admin/types', 'first view', 'page overview', 'page settings', 'map drawn']) {
    t.ok(cases.includes(expected), expected)
  }
  for (const line of lines) t.ok(Number(member(line, 'median_ms')) > 0, String(member(line, 'case')))
  t.equal(
    member(
      lines.find((line) => member(line, 'case') === 'map drawn'),
      'points',
    ),
    20,
  )
})
