import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { ConsoleTab, needsBrowser, startBrowser } from './browser.js'

test('a browser that is not on the machine of the broker, without a token', needsBrowser, async (t) => {
  const broker = await RunningBroker.start(t)
  await broker.send('POST', '/v2/subscriptions', {
    subject: { entities: [{ idPattern: '.*', type: 'Room' }] },
    notification: { http: { url: 'http://127.0.0.1:9/nobody' } },
  })
  await broker.send('POST', '/v2/entities', { id: 'R1', type: 'Room', level: { value: 1 } })
  const browser = await startBrowser(t)
  const tab = await ConsoleTab.open(browser, broker.url)
  const { page } = tab
  const headers: Readonly<Record<string, string>>[] = []
  const forbidden: string[] = []
  // What the page asks for while it comes from the broker's machine is over before it comes from elsewhere.
  await page.goto('about:blank')
  page.on('request', (request) => headers.push(request.headers()))
  page.on('response', (response) => response.status() === 403 && forbidden.push(new URL(response.url()).pathname))
  await page.setExtraHTTPHeaders({ 'X-Forwarded-For': '203.0.113.9' })
  await page.goto(`${broker.url}/console#/`)
  await tab.drawn('overview')

  await t.test('sees on the overview how many receivers fail, and not which', async (t) => {
    await page.locator('.concerns', { hasText: 'a receiver fails' }).waitFor()
    t.notMatch(await page.locator('main').innerText(), /nobody/)
    await page.getByText('read only').first().waitFor()
  })

  await t.test('is told on other pages what opens them, and they do not ask', async (t) => {
    for (const id of ['receivers', 'subscriptions', 'registrations', 'settings']) {
      await page.goto(`${broker.url}/console#/${id}`)
      await page.getByText("can be seen on the broker's own machine, or with a token").first().waitFor()
      t.match(await page.locator('main').innerText(), /read only.*start the broker with -adminToken.*-adminOpen/s, id)
    }
    t.same(forbidden, [], 'nothing is asked for that would be refused, and count as bad input')
  })

  await t.test('and what it asks of the management is counted apart', async (t) => {
    const { text } = await broker.send('GET', '/metrics')
    t.match(text, /rigel_http_requests_total\{method="GET",route="console",code="200"\} [1-9]/)
    t.notMatch(text, /rigel_http_requests_total\{method="GET",route="\/admin\/receivers"/)
    t.notMatch(text, /rigel_http_requests_total\{method="GET",route="\/console/)
    t.ok(headers.some((each) => each['rigel-console'] === '1'))
  })
})
