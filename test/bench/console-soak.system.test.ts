import { test } from 'tap'
import { missingBrowser } from '../../bench/chromium.js'
import { member } from '../../bench/ngsi.js'
import { linesOf, run } from './programs.js'

const missing = missingBrowser()

test(
  'a soak of the console says what broker and tabs hold',
  missing === undefined ? {} : { skip: missing },
  async (t) => {
    // In its first seconds everything grows: how much is no question of a short run.
    const ended = await run('console-soak', '--minutes', '0.005', '--interval', '0.3', '--tolerance', '1000000')
    t.equal(ended.code, 0, ended.errors)
    t.match(linesOf(ended, 'console soak')[0], { failed: 0, steady: true })
    const tab = member(ended.lines[0], 'walkedTab')
    for (const figure of ['heap_MiB', 'nodes', 'listeners']) t.ok(Number(member(tab, figure)) > 0, figure)
    t.ok(Number(member(ended.lines[0], 'heap_MiB')) > 0)
  },
)

test('a wrong command line of a soak of the console ends with 2', async (t) => {
  t.equal((await run('console-soak', '--rate', '0')).code, 2)
})
