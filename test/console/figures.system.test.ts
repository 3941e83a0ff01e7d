import { isDeepStrictEqual } from 'node:util'
import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { ConsoleTab, keepPicturesOnFailure, needsBrowser, startBrowser } from './browser.js'
import { Load } from './given-load.js'

/** The figures of a wait as the titles of a row have them, behind its name. */
type Row = readonly (string | null)[]

function waitsIn(json: unknown): readonly Row[] {
  const waits: unknown = member(json, 'waits')
  return Object.entries(Object(waits)).map(([name, figures]) => {
    const of = (figure: string): string => String(member(figures, figure))
    const times = ['total', 'max', 'p50', 'p90', 'p99', 'p999'].map((time) => `${of(time)} s`)
    return [name, of('count'), of('waited'), ...times]
  })
}

test('what the console says is what is', needsBrowser, async (t) => {
  const broker = await RunningBroker.start(t, ['-localIp', '127.0.0.1', '-partitions', '2', '-statSemWait'])
  const load = new Load(t, broker)
  load.begin(200)
  const browser = await startBrowser(t)
  const tab = await ConsoleTab.open(browser, broker.url)
  const { page } = tab
  keepPicturesOnFailure(t, tab)
  await tab.drawn('overview')

  await t.test('a receiver that fails is named', async () => {
    await page.locator('.stages').waitFor()
    await broker.send('POST', '/v2/subscriptions', {
      subject: { entities: [{ idPattern: '.*', type: 'Room' }] },
      notification: { http: { url: 'http://127.0.0.1:9/nobody' } },
    })
    await page.locator('.concerns', { hasText: 'http://127.0.0.1:9/nobody' }).waitFor()
  })

  await t.test('the rate is that of the client within five percent, over ten seconds', async () => {
    const windows: string[] = []
    // Of the moments of each tenth of a second: which ten seconds the page shows is not known to a second or two.
    const counts: { readonly at_ms: number; readonly succeeded: number }[] = []
    const counting = setInterval(() => counts.push({ at_ms: performance.now(), succeeded: load.succeeded }), 100)
    // A machine that stood still for a moment has no rate that two could agree on: the next ten seconds are as good.
    const isNear = async (): Promise<boolean> => {
      counts.length = 0
      await page.waitForTimeout(13_000)
      const shown = Number((await page.locator('.card-value').first().textContent())?.replaceAll(',', ''))
      const rates = counts.flatMap((begun) => {
        const ended = counts.find(({ at_ms }) => at_ms >= begun.at_ms + 10_000)
        return ended ? [(1000 * (ended.succeeded - begun.succeeded)) / (ended.at_ms - begun.at_ms)] : []
      })
      windows.push(
        `${shown} are shown, ${Math.min(...rates).toFixed(1)} to ${Math.max(...rates).toFixed(1)} were answered`,
      )
      return rates.some((rate) => Math.abs(shown - rate) < 0.05 * rate)
    }
    await until(isNear, () => windows.join('; ')).finally(() => clearInterval(counting))
  })

  await t.test('waits are those of /admin/waits, digit by digit', async () => {
    await load.end()
    await tab.show('waits')
    let found: Readonly<Record<'reported' | 'shown', readonly Row[]>> = { reported: [], shown: [] }
    const areSame = async (): Promise<boolean> => {
      const reported = waitsIn((await broker.send('GET', '/admin/waits')).json)
      const shown = await page
        .locator('tr[data-wait]')
        .evaluateAll((rows) =>
          rows.map((row) => [
            row.getAttribute('data-wait'),
            ...[...row.querySelectorAll('td')].map((cell) => cell.getAttribute('title')),
          ]),
        )
      found = { reported, shown }
      return reported.length > 0 && isDeepStrictEqual(new Set(reported), new Set(shown))
    }
    // What was under way when the load ended may be counted between the two looks.
    await until(areSame, () => JSON.stringify(found))
  })

  await t.test(
    'a kill of the broker is said, and its return, with a gap and a mark, and the page is the same',
    async (t) => {
      await tab.show('overview')
      await page.evaluate(() => {
        const drawn = new Set<string>()
        Object.assign(globalThis, { isSame: true, drawn })
        const { fillText } = CanvasRenderingContext2D.prototype
        CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
          drawn.add(text)
          fillText.call(this, text, ...place)
        }
      })
      t.same(tab.takeProblems(), [])
      await broker.end('SIGKILL')
      await page.locator('.banner', { hasText: 'No connection since' }).waitFor()
      await page.locator('.stale .stale-note').waitFor()
      t.same(await tab.accessibilityFaults(), [], 'with the banner')
      await page.waitForTimeout(3_000) // A shorter absence is no gap in a chart of seconds.
      await broker.run()
      await page.locator('.banner').waitFor({ state: 'detached' })
      await page.locator('.concerns', { hasText: 'the broker was restarted' }).waitFor()
      await page.waitForFunction(() => Object(globalThis).drawn.has('restart'))
      await page.locator('figure.chart summary').first().click()
      await page.waitForFunction(() => {
        const rows = [...document.querySelectorAll('figure.chart table tbody tr')]
        return /[^n]n+[^n]/.test(rows.map((row) => row.querySelector('td')?.textContent?.slice(0, 1)).join(''))
      })
      t.equal(await page.evaluate(() => 'isSame' in globalThis), true, 'nothing was loaded again')
      const others = tab.takeProblems().filter((problem) => !problem.includes('net::ERR_'))
      t.same(others, [], 'the browser tells of its failed requests, and of nothing else')
    },
  )
})
