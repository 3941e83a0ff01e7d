import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { type Test, test } from 'tap'
import { RunningBroker } from '../running.js'
import { ConsoleTab, needsBrowser, startBrowser } from './browser.js'
import { Load } from './given-load.js'

/** The seconds that have a point in the course of the first figure, which shows a minute, by their place in it. */
function secondsOf(page: Page): Promise<readonly number[]> {
  return page.evaluate(() => {
    const lines = [...(document.querySelector('.card')?.querySelectorAll('.spark-line') ?? [])]
    const points = lines.flatMap((line) => (line.getAttribute('d') ?? '').slice(1).split('L'))
    return points.map((point) => Math.round((Number.parseFloat(point) / 100) * 59))
  })
}

function longestGap(seconds: readonly number[]): number {
  return Math.max(...seconds.map((second, at) => second - (seconds[at - 1] ?? second)))
}

/** A port through which a broker is reached while it is not cut. */
async function cuttable(t: Test, broker: RunningBroker) {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    const far = connect(broker.port, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    if (isCut) near.destroy()
    else near.pipe(far).pipe(near)
  })
  const cut = (cuts: boolean) => {
    isCut = cuts
    if (cuts) for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    cut(true)
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://localhost:${port}`, cut }
}

test(
  'a page that is opened shows what was before, and fills the time without a connection',
  needsBrowser,
  async (t) => {
    const broker = await RunningBroker.start(t, ['-localIp', '127.0.0.1'])
    new Load(t, broker).begin(100)
    const browser = await startBrowser(t)
    const { url, cut } = await cuttable(t, broker)
    // The broker has been watched by nobody for so long.
    await new Promise((resolve) => setTimeout(resolve, 12_000))
    const { page } = await ConsoleTab.open(browser, url)
    await page.locator('.card .spark-line').first().waitFor({ state: 'attached' })
    const first = await secondsOf(page)
    t.ok(first.length >= 10, `seconds ${first} have points with the first frame`)
    t.ok(longestGap(first) <= 2, `no gap in ${first}`)
    cut(true)
    await page.locator('.banner', { hasText: 'No connection since' }).waitFor()
    await page.waitForTimeout(8_000)
    cut(false)
    await page.locator('.banner').waitFor({ state: 'detached' })
    // Two frames, so that there are figures again.
    await page.waitForTimeout(3_000)
    const again = await secondsOf(page)
    t.ok(again.length >= first.length + 8, `seconds ${again} have points`)
    t.ok(longestGap(again) <= 3, `no gap in ${again}`)
  },
)
