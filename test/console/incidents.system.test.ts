import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { type Test, test } from 'tap'
import { FarEnd, responding } from '../far-end.js'
import { ThreadKiller, withDebugger } from '../faults/thread-killer.js'
import { RunningBroker } from '../running.js'
import { ConsoleTab, needsBrowser, startBrowser } from './browser.js'

/** How soon an operator is to see what is wrong. */
const noticed_ms = 60_000

async function said(t: Test, page: Page, what: string, text: RegExp): Promise<void> {
  const line = page.locator('.concerns li', { hasText: text })
  await line
    .first()
    .waitFor({ timeout: noticed_ms })
    .catch(() => undefined)
  const all = await page.locator('.concerns li').allTextContents()
  t.ok(
    all.some((each) => text.test(each)),
    `${what}: ${all.join(' | ')}`,
  )
}

async function subscribe(broker: RunningBroker, type: string, url: string): Promise<void> {
  const { status } = await broker.send('POST', '/v2/subscriptions', {
    subject: { entities: [{ idPattern: '.*', type }] },
    notification: { http: { url } },
  })
  if (status !== 201) throw new Error(`no subscription to ${type}: ${status}`)
}

async function storeMany(broker: RunningBroker, type: string, number: number, text = ''): Promise<void> {
  const entities = Array.from({ length: number }, (_, at) => ({
    id: `${type}${at}`,
    type,
    n: { value: `${at}${text}` },
  }))
  for (let from = 0; from < number; from += 100) {
    const body = { actionType: 'append', entities: entities.slice(from, from + 100) }
    await broker.send('POST', '/v2/op/update', body)
  }
}

/** Queries that each read everything, until the function that it gives is called. */
function askMuch(broker: RunningBroker): () => Promise<void> {
  let isOver = false
  const path = `/v2/entities?type=Large&limit=1000&options=count&q=n~=${encodeURIComponent('[a-y]z$')}`
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) await broker.send('GET', path).catch(() => delay(100))
  })
  return async () => {
    isOver = true
    await Promise.all(clients)
  }
}

test('within a minute the console says what is wrong, and who is to blame', needsBrowser, async (t) => {
  const flags = ['-partitions', '2', '-queryThreads', '1', '-httpThreads', '1']
  const folder = t.testdir()
  const broker = await RunningBroker.startOn(t, join(folder, 'large'), flags, { nodeOptions: withDebugger })
  const small = await RunningBroker.startOn(t, join(folder, 'small'), ['-partitions', '1', '-dbSizeMax', '16'])
  const slow = await FarEnd.listen(t, (received, response) => {
    setTimeout(() => responding(200)(received, response), 2000).unref()
  })
  await subscribe(broker, 'Down', 'http://127.0.0.1:9/down')
  await subscribe(broker, 'Slow', slow.url())
  await storeMany(broker, 'Down', 1)
  await storeMany(broker, 'Slow', 1200)
  await storeMany(broker, 'Large', 3000, 'x'.repeat(2000))
  for (const id of Array.from({ length: 40 }, (_, at) => `Book${at}`)) {
    const page = { value: 'x'.repeat(900_000) }
    if ((await small.send('POST', '/v2/entities', { id, type: 'Book', page })).status === 503) break
  }
  const killer = await ThreadKiller.connect(broker.output)
  await killer.kill('partition', 'throws')
  killer.close()
  const browser = await startBrowser(t)
  const { page } = await ConsoleTab.open(browser, broker.url)
  const other = await ConsoleTab.open(browser, small.url)
  await broker.send('POST', '/v2/entities', '{"id":')
  const stop = askMuch(broker)
  t.teardown(stop)
  await said(
    t,
    page,
    'a receiver that is down',
    /receiver http:\/\/127\.0\.0\.1:9\/down fails, connection refused since.*Check that the receiver runs/,
  )
  await said(t, page, 'bad requests', /client 127\.0\.0\.1 sends bad requests.*Correct the client/)
  await said(
    t,
    page,
    'a partition that died',
    /the thread of partition \d died and was started again at \d\d:\d\d:\d\d.*Nothing that was acknowledged is lost/,
  )
  await said(t, other.page, 'no room', /partition 0 is full: updates are refused.*larger -dbSizeMax/)
  await said(
    t,
    page,
    'a slow receiver',
    new RegExp(`127\\.0\\.0\\.1:${slow.port}: 1,\\d+ notifications wait, the oldest.*Make it respond faster`),
  )
  await said(
    t,
    page,
    'costly queries',
    /(?:query thread 0 is busy for .*costly queries|GET \/v2\/entities takes up to).*Record slow requests/,
  )
})
