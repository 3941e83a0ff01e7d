import type { Browser } from 'playwright-core'
import { t as root, type Test, test } from 'tap'
import { answering, FarEnd } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { appearances, ConsoleTab, needsBrowser, startBrowser } from './browser.js'

const hostile = '\u202e<img src=x onerror="document.title=\'taken\'"> javascript:alert(1)'
const isSkipped = 'skip' in needsBrowser
const given = isSkipped ? undefined : await started(root)

interface Given {
  readonly browser: Browser
  readonly broker: RunningBroker
  readonly failing: FarEnd
  readonly subscription: string
}

function all(): Given {
  if (given === undefined) throw new Error('there is no browser')
  return given
}

/** A broker with some of everything, hostile values among them. */
async function started(t: Test): Promise<Given> {
  const failing = await FarEnd.listen(t, answering(500))
  const [broker, browser] = [
    await RunningBroker.start(t, ['-multiservice', '-localIp', '127.0.0.1']),
    await startBrowser(t),
  ]
  const post = async (path: string, body: object) => {
    const reply = await broker.send('POST', path, body)
    if (reply.status >= 300) throw new Error(reply.text)
    return reply.headers.get('location')?.split('/').at(-1) ?? ''
  }
  const subscription = await post('/v2/subscriptions', {
    description: 'rooms that are hot',
    subject: { entities: [{ idPattern: '^Room' }], condition: { expression: { q: 'temperature>20' } } },
    notification: { http: { url: failing.url() } },
  })
  const metadata = { note: { type: 'TextUnrestricted', value: hostile } }
  await post('/v2/entities', {
    ...{ id: 'Room1', type: 'Room', temperature: { type: 'Number', value: 25, metadata } },
    ...{
      html: { type: 'TextUnrestricted', value: hostile },
      deep: { type: 'T', value: { a: [1, { b: hostile.slice(1, 4).replace('<', '') }] } },
    },
  })
  await post('/v2/entities', { id: 'Room2', type: 'Room', temperature: { type: 'Number', value: 5 } })
  const long = { type: 'TextUnrestricted', value: 'x'.repeat(900_000) }
  await post('/v2/entities', { id: 'Long1', type: 'Long', text: long })
  for (let from = 0; from < 10_000; from += 1000) {
    const entities = Array.from({ length: 1000 }, (_, at) => {
      const place = `${(((from + at) * 7) % 1700) / 10 - 85},${(((from + at) * 13) % 3600) / 10 - 180}`
      return { id: `Bus${from + at}`, type: 'Bus', position: { type: 'geo:point', value: place } }
    })
    await post('/v2/op/update', { actionType: 'append', entities })
  }
  await post('/v2/registrations', {
    description: 'the weather',
    dataProvided: { entities: [{ idPattern: '.*', type: 'Weather' }], attrs: ['wind'] },
    provider: { http: { url: failing.url('/v2') } },
  })
  return { browser, broker, failing, subscription }
}

async function open(id: string, look: (typeof appearances)[number] = appearances[0]): Promise<ConsoleTab> {
  const { browser, broker } = all()
  return ConsoleTab.open(browser, broker.url, id, look)
}

test(
  'each page is free of faults for those who use assistive programs, and no wider than its window',
  needsBrowser,
  async (t) => {
    const { subscription } = all()
    const views = [`subscriptions?id=${subscription}`, 'entities?id=Room1', 'entities?view=map&type=Bus']
    // Each page as it opens is tried in every look with all others.
    for (const look of [appearances[0], appearances[3]]) {
      const tab = await open('entities', look)
      for (const view of views) {
        await tab.page.evaluate((hash) => {
          location.hash = hash
        }, `#/${view}`)
        await tab.page.waitForFunction(() => document.querySelector('main h1') !== null)
        await tab.page.waitForFunction(() => document.querySelector('main .loading') === null)
        t.same(await tab.accessibilityFaults(), [], `${view} ${look.theme} ${look.width}`)
        t.equal(await tab.scrollsSideways(), false, `${view} ${look.theme} ${look.width}`)
      }
      t.same(tab.takeProblems(), [])
      await tab.close()
    }
  },
)

test('of much that is stored a page reads what it shows, and nothing of other pages', needsBrowser, async (t) => {
  const tab = await open('entities')
  await tab.settled('entities')
  const asked = tab.requested.map((url) => new URL(url)).filter(({ pathname }) => pathname.startsWith('/admin/'))
  const others = asked.filter(({ pathname }) => /subscriptions|receivers|registrations|config|log|waits/.test(pathname))
  t.same(others, [])
  const pages = asked.filter(({ pathname }) => pathname === '/admin/entities')
  t.ok(
    pages.length > 0 && pages.every(({ searchParams }) => Number(searchParams.get('limit')) <= 100),
    'pages of a hundred',
  )
  const rows = await tab.page.locator('main tbody tr').count()
  t.ok(rows > 10 && rows <= 101, `${rows} rows of ten thousand`)
  await tab.close()
})

test('what clients stored is text, whatever it says and however long it is', needsBrowser, async (t) => {
  const tab = await open('entities?id=Room1')
  await tab.page.getByText('onerror').first().waitFor()
  t.equal(await tab.page.locator('main img').count(), 0)
  t.equal(
    await tab.page.locator('main .chip', { hasText: 'note' }).locator('bdi').last().textContent(),
    `${hostile.slice(0, 40)}…`,
  )
  t.equal(await tab.page.title(), 'Entities · Rigel')
  await tab.page.evaluate(() => {
    location.hash = '#/entities?id=Long1'
  })
  await tab.page.getByRole('button', { name: /all 900,?002 characters/ }).waitFor()
  t.ok(Number((await tab.page.locator('main').textContent())?.length) < 5000, 'it is cut until somebody asks for it')
  t.same(tab.takeProblems(), [])
  await tab.close()
})

test('by keyboard alone: a page, a search, a row, the reason, and back', needsBrowser, async (t) => {
  const tab = await open('overview')
  const { page } = tab
  await page.locator('h1').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await page.getByText('rooms that are hot').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('HOT')
  await page.waitForFunction(() => location.hash.includes('text=HOT'))
  await page.getByText('rooms that are hot').waitFor()
  await page.keyboard.press('Tab')
  await page.evaluate(() => (document.activeElement instanceof HTMLElement ? document.activeElement.blur() : undefined))
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Why is nothing sent?' }).waitFor()
  await page.getByText('trouble: 500').first().waitFor()
  const entity = page.getByLabel('Entity')
  await entity.focus()
  await page.keyboard.type('Room2')
  await page.keyboard.press('Enter')
  await page.getByText('would not be notified').waitFor()
  const misfit = page.getByRole('row', { name: /does not fit/ })
  t.match(await misfit.first().textContent(), /q.*temperature>20.*temperature.*5/)
  await page.keyboard.press('Alt+ArrowLeft')
  await page.goBack()
  await page.getByText('rooms that are hot').waitFor()
  t.same(tab.takeProblems(), [])
  await tab.close()
})

test('a change of an entity that is watched is marked and listed', needsBrowser, async (t) => {
  const tab = await open('entities?id=Room2&type=Room')
  await tab.page.getByRole('button', { name: 'Watch' }).click()
  await tab.page.getByText('Nothing has changed').waitFor()
  await all().broker.send('PATCH', '/v2/entities/Room2/attrs?type=Room', {
    temperature: { type: 'Number', value: 7.25 },
  })
  await tab.page.locator('tr.flash').waitFor()
  await tab.page.locator('ol li', { hasText: 'temperature' }).getByText('7.25').waitFor()
  t.same(tab.takeProblems(), [])
  await tab.close()
})

test('ten thousand places are drawn, and dragging asks for those of an area', needsBrowser, async (t) => {
  const tab = await open('entities')
  const { page } = tab
  await tab.settled('entities')
  t.notOk(
    tab.requested.some((url) => url.includes('entity-map')),
    'the map is not loaded before it is opened',
  )
  await page.evaluate(() => {
    const { clearRect, fill } = CanvasRenderingContext2D.prototype
    const times = { begun: 0, took: 0 }
    Object.assign(globalThis, { times })
    CanvasRenderingContext2D.prototype.clearRect = function (x, y, width, height) {
      times.begun = performance.now()
      clearRect.call(this, x, y, width, height)
    }
    CanvasRenderingContext2D.prototype.fill = function (...given: unknown[]) {
      Reflect.apply(fill, this, given)
      times.took = performance.now() - times.begun
    }
  })
  await page.getByRole('button', { name: 'Map' }).click()
  await page.getByText('10,000 places are shown').waitFor()
  const took_ms = Number(await page.evaluate(() => Object(globalThis).times.took))
  t.ok(took_ms > 0, `drawn in ${took_ms} ms`)
  const box = await page.locator('.map canvas').boundingBox()
  if (box === null) throw new Error('there is no map')
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 4)
  await page.mouse.down()
  await page.mouse.move(box.x + (box.width * 3) / 4, box.y + box.height / 2, { steps: 4 })
  await page.mouse.up()
  await page.waitForFunction(() => location.hash.includes('area='))
  const [west = 0, south = 0, east = 0, north = 0] = decodeURIComponent(/area=([^&]*)/.exec(page.url())?.[1] ?? '')
    .split(',')
    .map(Number)
  t.ok(Math.abs(west) < 2 && Math.abs(east - 90) < 2 && Math.abs(south) < 2 && Math.abs(north - 45) < 2, page.url())
  await page.waitForFunction(() => !document.body.textContent?.includes('10,000 places'))
  t.same(tab.takeProblems(), [])
  await tab.close()
})

test('a subscription is ended when it was agreed to, and not before', needsBrowser, async (t) => {
  const { broker, subscription } = all()
  const tab = await open(`subscriptions?id=${subscription}`)
  const { page } = tab
  await page.getByRole('button', { name: 'End it' }).click()
  await page.getByText(/wait for it and are dropped|Nothing waits for it/).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  t.equal((await broker.send('GET', `/admin/subscriptions/${subscription}`)).status, 200)
  await page.getByRole('button', { name: 'End it' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End it' }).click()
  await page.getByText('No subscription fits').waitFor()
  t.equal((await broker.send('GET', `/admin/subscriptions/${subscription}`)).status, 404)
  await tab.close()
})
