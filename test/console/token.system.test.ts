import type { Locator } from 'playwright-core'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { ConsoleTab, needsBrowser, pageIds, startBrowser } from './browser.js'

const token = 'a-token-that-is-nowhere-else'

test(
  'the token is asked for once, sent in its header, kept by the tab, and is nowhere else',
  needsBrowser,
  async (t) => {
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
    await tab.drawn('waits')
    for (const id of pageIds) {
      await tab.show(id)
      await page.evaluate(() => {
        for (const folded of document.querySelectorAll('details')) folded.open = true
      })
    }

    t.match(
      headers.filter(({ authorization = '' }) => authorization === `Bearer ${token}`),
      { length: /[1-9]/ },
      'it is sent',
    )
    const kept = await page.evaluate(async () =>
      JSON.stringify([
        document.cookie,
        await indexedDB.databases(),
        await caches.keys(),
        performance.getEntries(),
        { ...localStorage },
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
    await tab.drawn(pageIds.at(-1) ?? '')
    t.equal(await field.count(), 0, 'the tab still has it')
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByLabel('Token').waitFor()
    await page.evaluate(() => sessionStorage.setItem('rigel-token', 'of another broker'))
    await page.reload()
    await page.getByRole('alert').waitFor()
    t.same(await page.evaluate(() => ({ ...sessionStorage })), {}, 'a token that is not taken is forgotten')
  },
)

test(
  'without a token, where others reach the port, nothing can be changed, and it is said',
  needsBrowser,
  async (t) => {
    const broker = await RunningBroker.start(t, ['-statSemWait'])
    const { headers } = await broker.send('POST', '/v2/subscriptions', {
      subject: { entities: [{ id: 'Room1' }] },
      notification: { http: { url: 'http://127.0.0.1:9/nobody' } },
    })
    const subscription = headers.get('location')?.split('/').at(-1)
    const browser = await startBrowser(t)
    const tab = await ConsoleTab.open(browser, broker.url)
    const { page } = tab
    await page.locator('header', { hasText: 'read only' }).waitFor()
    const changes: Readonly<Record<string, Locator>> = {
      waits: page.getByRole('button', { name: 'Reset', exact: true }),
      requests: page.getByRole('button', { name: 'Record', exact: true }),
      trace: page.getByLabel('Log level'),
      [`subscriptions?id=${subscription}`]: page.getByRole('button', { name: 'Delete' }),
    }
    for (const [address, change] of Object.entries(changes)) {
      await page.evaluate((hash) => {
        location.hash = hash
      }, `#/${address}`)
      await change.waitFor()
      t.ok(await change.isDisabled(), address)
      await page.keyboard.press('r')
      t.equal(await page.locator('dialog[open]').count(), 0, address)
    }
    t.same(tab.takeProblems(), [])
  },
)
