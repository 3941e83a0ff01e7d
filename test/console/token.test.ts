import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { ConsoleTab, needsBrowser, startBrowser } from './browser.js'

const token = 'a-token-that-is-nowhere-else'

test('the token is asked for once, sent in its header, and is nowhere else', needsBrowser, async (t) => {
  const broker = await RunningBroker.start(t, ['-adminToken', token, '-logLevel', 'DEBUG'])
  const browser = await startBrowser(t)
  const tab = await ConsoleTab.open(browser, broker.url, 'waits')
  const { page } = tab
  const headers: Readonly<Record<string, string>>[] = []
  page.on('request', (request) => headers.push(request.headers()))
  const field = page.getByLabel('Token')
  await field.waitFor()
  t.same(await tab.accessibilityFaults(), [], 'the question')
  t.same(tab.takeProblems(), [], 'nothing was tried without it')
  t.notMatch(broker.output, 'BadInput')

  await field.fill('wrong')
  await field.press('Enter')
  await page.getByRole('alert').waitFor()
  await field.fill(token)
  await field.press('Enter')
  await tab.settled('waits')

  t.match(
    headers.filter(({ authorization = '' }) => authorization === `Bearer ${token}`),
    { length: /[1-9]/ },
    'it is sent',
  )
  const kept = await page.evaluate(() =>
    JSON.stringify([
      document.cookie,
      { ...localStorage },
      { ...sessionStorage },
      location.href,
      document.documentElement.outerHTML,
      history.state,
    ]),
  )
  const context = JSON.stringify([await page.context().cookies(), await page.context().storageState()])
  const sent = headers.map(({ authorization: _, ...others }) => JSON.stringify(others)).join('\n')
  for (const [place, text] of Object.entries({
    kept,
    context,
    sent,
    urls: tab.requested.join('\n'),
    log: broker.output,
  })) {
    t.notMatch(text, token, place)
  }
  t.same(
    tab.takeProblems().filter((problem) => !problem.includes('401 (Unauthorized)')),
    [],
  )
  t.match(broker.output, /./, 'the log was read')

  await page.reload()
  await field.waitFor()
})
