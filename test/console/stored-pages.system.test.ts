import { hostname } from 'node:os'
import { t as root, type Test, test } from 'tap'
import { FarEnd, responding } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { ConsoleTab, needsBrowser, startBrowser } from './browser.js'

const hostile = '\u202e<img src=x onerror="document.title=\'taken\'"> javascript:alert(1)'
const isSkipped = 'skip' in needsBrowser
const given = isSkipped ? undefined : await started(root)

interface Given {
  readonly tab: ConsoleTab
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
  const failing = await FarEnd.listen(t, responding(500))
  const [broker, browser] = await Promise.all([
    RunningBroker.start(t, ['-multiservice', '-localIp', '127.0.0.1']),
    startBrowser(t),
  ])
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
  return { tab: await ConsoleTab.open(browser, broker.url), broker, failing, subscription }
}

test('of much that is stored a page reads what it shows, and nothing of other pages', needsBrowser, async (t) => {
  const { tab } = all()
  await tab.show('entities')
  const requests = tab.requested.map((url) => new URL(url)).filter(({ pathname }) => pathname.startsWith('/admin/'))
  const others = requests.filter(({ pathname }) =>
    /subscriptions|receivers|registrations|config|log|waits/.test(pathname),
  )
  t.same(others, [])
  const pages = requests.filter(({ pathname }) => pathname === '/admin/entities')
  t.ok(
    pages.length > 0 && pages.every(({ searchParams }) => Number(searchParams.get('limit')) <= 100),
    'pages of a hundred',
  )
  const rows = await tab.page.locator('main tbody tr').count()
  t.ok(rows > 10 && rows <= 101, `${rows} rows of ten thousand`)
})

test('what clients stored is text, whatever it says and however long it is', needsBrowser, async (t) => {
  const { tab } = all()
  await tab.show('entities?id=Room1')
  await tab.page.getByText('onerror').first().waitFor()
  t.equal(await tab.page.locator('main img').count(), 0)
  t.equal(
    await tab.page.locator('main .chip', { hasText: 'note' }).locator('bdi').last().textContent(),
    `${hostile.slice(0, 40)}…`,
  )
  await tab.page.waitForFunction((title) => document.title === title, `Entities · ${hostname()} · Rigel`)
  await tab.show('entities?id=Long1')
  await tab.page.getByRole('button', { name: /all 900,?002 characters/ }).waitFor()
  t.ok(Number((await tab.page.locator('main').textContent())?.length) < 5000, 'it is cut until somebody asks for it')
  t.same(tab.takeProblems(), [])
})

test('by keyboard alone: a page, a search, a row, the reason, and back', needsBrowser, async (t) => {
  const { tab } = all()
  const { page } = tab
  await tab.show('overview')
  await tab.until(async () => {
    await page.keyboard.press('g')
    await page.keyboard.press('s')
  }, page.getByText('rooms that are hot'))
  const response = page.waitForResponse((response) => response.url().includes('text=HOT'))
  await page.keyboard.press('/')
  await page.keyboard.type('HOT')
  await response
  t.match(page.url(), 'text=HOT', 'the address holds the search')
  await tab.until(
    async () => {
      // Keys are for the field while it has the focus.
      await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur())
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
    },
    page.getByRole('heading', { name: 'Why is nothing sent?' }),
  )
  await page
    .locator('tr', { hasText: /trouble\s*500/ })
    .first()
    .waitFor()
  const entity = page.getByLabel('Entity')
  await entity.focus()
  await page.keyboard.type('Room2')
  await page.keyboard.press('Enter')
  await page.getByText('would not be notified').waitFor()
  const misfit = page.getByRole('row', { name: /does not fit/ })
  t.match(await misfit.first().textContent(), /q.*temperature>20.*temperature.*5/)
  await page.goBack()
  await page.getByText('rooms that are hot').waitFor()
  t.same(tab.takeProblems(), [])
})

test('a change of an entity that is watched is marked and listed', needsBrowser, async (t) => {
  const { tab, broker } = all()
  await tab.show('entities?id=Room2&type=Room')
  await tab.page.getByRole('button', { name: 'Watch' }).click()
  await tab.page.getByText('Nothing has changed').waitFor()
  // It is marked for a moment only, which may be over before anybody looks: each change of the page is.
  await tab.page.evaluate(() => {
    const isMarked = () => document.querySelector('tr.flash') !== null
    const observer = new MutationObserver(() => {
      if (isMarked()) Object.assign(globalThis, { wasMarked: true })
    })
    observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ['class'] })
  })
  await broker.send('PATCH', '/v2/entities/Room2/attrs?type=Room', {
    temperature: { type: 'Number', value: 7.25 },
  })
  await tab.page.waitForFunction(() => 'wasMarked' in globalThis)
  await tab.page.locator('ol li', { hasText: 'temperature' }).getByText('7.25').waitFor()
  t.same(tab.takeProblems(), [])
})

test(
  'entities are found by what is known of them, and as many are told as have been found',
  needsBrowser,
  async (t) => {
    const { tab } = all()
    const { page } = tab
    const pagerShows = (text: string) => page.locator('.pager', { hasText: text }).waitFor()
    await tab.show('entities?type=Bus')
    await pagerShows('1 to 50 of 10,000')
    await tab.show('entities?type=Bus&prefix=Bus99')
    await pagerShows('1 to 50 of at least 50')
    await page.getByRole('button', { name: 'Next' }).click()
    await pagerShows('51 to 100 of at least 100')
    await page.getByRole('button', { name: 'Previous' }).click()
    await pagerShows('1 to 50 of at least 50')
    const field = (name: string) => page.getByRole('search').getByLabel(name, { exact: true })
    await field('Id matches').fill('^Bus998[0-4]$')
    await pagerShows('1 to 5 of 5')
    await field('Id begins with').fill('')
    await field('Has the attribute').fill('temperature')
    // Whether all have been looked at by then depends on the machine.
    await page.getByText(/No entity matches|No match so far/).waitFor()
    await page.getByRole('navigation', { name: 'Types' }).getByRole('link', { name: /Room/ }).click()
    await field('Id matches').fill('')
    await pagerShows('1 to 2 of 2')
    t.match(page.url(), /attribute=temperature/, 'another type is asked for with the same filters')
    t.same(tab.takeProblems(), [])
  },
)

test('ten thousand places are drawn, and dragging asks for those of an area', needsBrowser, async (t) => {
  const { tab } = all()
  const { page } = tab
  await tab.show('entities')
  t.notOk(
    tab.requested.some((url) => url.includes('entity-map')),
    'the map is not loaded before it is opened',
  )
  await page.getByRole('button', { name: 'Map' }).click()
  await page.getByText('10,000 places are shown').waitFor()
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
})

test('each flag leads into the reference', needsBrowser, async (t) => {
  const { tab, broker } = all()
  await tab.show('settings?text=mailboxSize')
  const link = tab.page.getByRole('link', { name: '-mailboxSize' })
  t.equal(await link.getAttribute('href'), '/docs/flags#mailboxSize')
  t.match((await broker.send('GET', '/docs/flags')).text, 'id="mailboxSize"')
})

test('settings show the value in force beside the default, and those alone that differ', needsBrowser, async (t) => {
  const { broker, tab } = all()
  await tab.show('settings')
  const { page } = tab
  const row = (flag: string) => page.getByRole('row', { name: flag, exact: false }).filter({ hasText: flag })
  t.equal(await row('-localIp').locator('.differing').textContent(), '127.0.0.1')
  t.match(await row('-localIp').textContent(), /127\.0\.0\.1.*all.*command line/)
  t.equal(await row('-mailboxSize').locator('.differing').count(), 0)
  await page.getByLabel('only those that differ from their default').check()
  await row('-mailboxSize').waitFor({ state: 'detached' })
  t.equal(await row('-localIp').count(), 1)
  t.match(page.url(), /differing=only/)
  t.equal((await broker.send('PUT', '/admin/stats?timing=true')).status, 200)
  await page.reload()
  t.match(await row('-statTiming').textContent(), /true.*changed while running, at the start false/)
  t.equal((await broker.send('PUT', '/admin/stats?timing=false')).status, 200)
})

test('a subscription is ended when it was agreed to, and not before', needsBrowser, async (t) => {
  const { broker, subscription, tab } = all()
  const { page } = tab
  await tab.show(`subscriptions?id=${subscription}`)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText(/wait for it and are dropped|Nothing waits for it/).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  t.equal((await broker.send('GET', `/admin/subscriptions/${subscription}`)).status, 200)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No subscription fits').waitFor()
  t.equal((await broker.send('GET', `/admin/subscriptions/${subscription}`)).status, 404)
})
