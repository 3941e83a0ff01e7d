import { test } from 'tap'
import { playCalls } from './documented-calls.js'
import { pages } from './documented-pages.js'

test('every call of a page gets the response that the page shows', async (t) => {
  let calls = 0
  for (const [path, page] of pages) {
    if (!page.includes('```console\n')) continue
    await t.test(path, async (t) => {
      calls += await playCalls(t, page)
    })
  }
  t.ok(calls > 30, 'the pages have calls to play')
})
