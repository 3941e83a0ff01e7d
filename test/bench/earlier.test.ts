import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { items, member } from '../../bench/ngsi.js'
import { linesOf, run, short, standIn } from './programs.js'

test('an earlier run stands beside this one in the table and on the page', async (t) => {
  const folder = t.testdir()
  const files = { json: `${folder}/earlier.json`, page: `${folder}/page.html` }
  t.equal((await run('run', 'read', '--broker', standIn, '--json', files.json, ...short)).code, 0)
  const earlier: unknown = JSON.parse(readFileSync(files.json, 'utf8'))
  t.ok(
    items(member(earlier, 'bars')).every((row) => member(row, 'reached') === 'not measured'),
    'no bar is about 1 or 4 connections',
  )

  const ended = await run('run', 'read', '--broker', standIn, '--compare', files.json, '--report', files.page, ...short)
  t.equal(ended.code, 0, ended.errors)
  t.match(ended.errors, /rate_per_s {2}rate_per_s \(earlier\)[\s\S]*\nbars\n/)
  t.equal(member(linesOf(ended, 'read')[0], 'rate_per_s (earlier)'), undefined, 'lines for programs stay as they are')
  const page = readFileSync(files.page, 'utf8')
  t.match(page, '"label":"p99 (earlier)"')
  t.match(page, '<th>p50_ms (earlier)')

  const wrong = await run('run', 'read', '--broker', standIn, '--compare', files.page, ...short)
  t.equal(wrong.code, 2, 'what is no file of results is a wrong command line')
})
