import type { Browser } from 'playwright-core'
import { missingBrowser, startChromium } from './chromium.js'
import { MeasuredTab } from './console-tab.js'
import { createDevices } from './fleet.js'
import type { Bench, Harness } from './harness.js'
import type { Request } from './request.js'
import { timesIn } from './rounds.js'
import { type Meant, subscribe } from './subscriber.js'
import type { Line } from './table.js'

/** What no machine of this size has: each page is to show what of it is seen, and nothing else. */
const manyPartitions = '256'

/** The console where much is stored. */
export const consoleBench: Bench = {
  name: 'console',
  question: 'resources and pages of the console with as much stored as --sizes and --subscriptions say',
  run: async (harness) => {
    if (!harness.hasOwnBrokers('console')) return
    const missing = missingBrowser()
    if (missing !== undefined) harness.report.note(`Left out, since ${missing}: the pages of console.`)
    const browser = missing === undefined ? await startChromium() : undefined
    try {
      await measureMuch(harness, browser)
    } finally {
      await browser?.close()
    }
  },
}

async function measureMuch(harness: Harness, browser: Browser | undefined): Promise<void> {
  const { sizes, subscriptions: numbers, flags, rounds } = harness.options
  const [entities, subscriptions] = [Math.max(...sizes), Math.max(...numbers)]
  // What is measured is read: how soon writes reach the disk is no question of it.
  const own = ['-writeConcern', '0', ...(flags.includes('-partitions') ? [] : ['-partitions', manyPartitions])]
  const line = { bench: 'console', entities, subscriptions, rounds }
  await harness.withBroker(own, async (url) => {
    const progress = (created: number) => harness.report.progress(`console, ${created} of ${entities} entities`)
    await createDevices(url, entities, 0, progress, placed, pace)
    harness.report.progress(`console, ${subscriptions} subscriptions`)
    await subscribe(
      url,
      nobody,
      Array.from({ length: subscriptions }, (_, number) => elsewhere(number)),
    )
    for (const path of resources(entities, subscriptions)) {
      harness.report.progress(`console, ${path}`)
      harness.report.add({ ...line, case: path, ...(await timesIn(rounds, () => resourceTime_ms(url, path))) })
    }
    if (browser !== undefined) await measurePages(harness, url, browser, line)
  })
}

/** Each request reaches all partitions, and brings some entities to each. */
const pace = { writers: 2, perRequest: 1000 }

/** A port that refuses connections. */
const nobody = 'http://127.0.0.1:9/nobody'

const elsewhere = (number: number): Meant => ({ id: `elsewhere-${number}`, isPattern: false })

/** Entities of twenty types, each tenth somewhere on the earth. */
function placed(numbers: readonly number[]): Request {
  const contextElements = numbers.map((number) => ({
    id: `console-${number}`,
    type: `Type${number % 20}`,
    isPattern: 'false',
    attributes: [
      { name: 'level', type: 'number', value: String(number) },
      ...(number % 10 === 0 ? [place(number)] : []),
    ],
  }))
  return { verb: 'POST', path: '/v1/updateContext', body: JSON.stringify({ contextElements, updateAction: 'APPEND' }) }
}

function place(number: number): object {
  const metadatas = [{ name: 'location', type: 'string', value: 'WGS84' }]
  const value = `${((number * 7) % 1200) / 10 - 60}, ${((number * 13) % 3400) / 10 - 170}`
  return { name: 'position', type: 'coords', value, metadatas }
}

/** What the pages read. */
function resources(entities: number, subscriptions: number): readonly string[] {
  const middle = Math.floor(entities / 2)
  return [
    '/admin/entities?limit=50&total=off',
    `/admin/entities?limit=50&total=off&prefix=console-${middle}`,
    '/admin/entities?limit=50&total=off&type=Type7',
    '/admin/entities?limit=50&total=off&attribute=position',
    `/admin/entities/console-${middle}`,
    '/admin/entities/points?area=-180,-90,180,90&limit=10000',
    '/admin/types',
    '/admin/tenants',
    '/admin/subscriptions?details=on&limit=50',
    `/admin/subscriptions?details=on&limit=50&text=elsewhere-${subscriptions - 1}`,
    '/admin/receivers',
    '/admin/registrations',
    '/admin/alarms',
    '/admin/config',
    '/admin/slow',
    '/admin/waits',
    '/admin/metrics',
  ]
}

async function resourceTime_ms(url: string, path: string): Promise<number> {
  const began_ms = performance.now()
  const response = await fetch(`${url}${path}`)
  await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`${path}: HTTP ${response.status}`)
  return performance.now() - began_ms
}

async function measurePages(harness: Harness, url: string, browser: Browser, line: Line): Promise<void> {
  const { rounds } = harness.options
  const add = (name: string, figures: Line) => harness.report.add({ ...line, case: name, ...figures })
  harness.report.progress('console, first view')
  add('first view', await timesIn(rounds, () => firstView_ms(url, browser)))
  const tab = await MeasuredTab.open(browser)
  await tab.load(url)
  const ids = await tab.pageIds()
  const first = ids[0] ?? ''
  for (const id of [...ids, 'entities?view=map']) {
    harness.report.progress(`console, page ${id}`)
    const other = id === first ? 'settings' : first
    add(`page ${id}`, await timesIn(rounds, () => pageTime_ms(tab, other, id)))
  }
  harness.report.progress('console, map')
  const map = await timesIn(rounds, async () => {
    await tab.show(first)
    return tab.mapTime_ms('entities?view=map&type=Type0')
  })
  add('map drawn', { points: await tab.pointsShown(), ...map })
  await tab.close()
}

async function firstView_ms(url: string, browser: Browser): Promise<number> {
  const tab = await MeasuredTab.open(browser)
  const drawn_ms = await tab.load(url)
  await tab.close()
  return drawn_ms
}

/** Opens the page from another one. */
async function pageTime_ms(tab: MeasuredTab, other: string, id: string): Promise<number> {
  await tab.show(other)
  return tab.show(id)
}
