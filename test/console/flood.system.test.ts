import { test } from 'tap'
import { watchLines } from '../../src/api/console/feeds.js'
import type { Line } from '../../src/observe/log/log.js'
import { now } from '../../src/time.js'
import { EventReader } from '../event-reader.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { ConsoleTab, needsBrowser, startBrowser } from './browser.js'

/** As many lines as a broker may write in a second while it traces everything. */
const flood = 50_000

test('of fifty thousand lines in a moment a viewer is sent two hundred, and told of all others', async (t) => {
  const sent: string[] = []
  const put = (event: Uint8Array) => sent.push(Buffer.from(event).toString()) > 0
  let take: (line: Line) => void = () => t.fail('nobody listens')
  const listen = (taker: typeof take) => {
    take = taker
    return () => undefined
  }
  const end = watchLines({ listen }, {}, { put, putNewest: put })
  const line: Line = {
    ...{ time: now(), level: 'DEBUG', op: 'x', message: 'm' },
    ...{ facts: undefined, context: undefined, area: undefined, partition: undefined },
  }
  for (let number = 0; number < flood; number += 1) take(line)
  const skipped = () => sent.flatMap((text) => /"lines":(\d+)/.exec(text)?.[1] ?? []).map(Number)
  await until(() => skipped().length !== 0)
  end()
  const lines = sent.join('').split('event: line').length - 1
  t.equal(lines + skipped().reduce((sum, each) => sum + each, 0), flood)
  t.ok(lines >= 200 && lines < flood / 10, `${lines} lines`)
})

/** Updates as fast as they are answered, until it is told to end. */
function updates(broker: RunningBroker): () => Promise<void> {
  let isOver = false
  const elements = Array.from({ length: 50 }, (_, at) => {
    return { id: `R${at}`, type: 'T', isPattern: 'false', attributes: [{ name: 'a', type: 'T', value: '1' }] }
  })
  const clients = Array.from({ length: 4 }, async () => {
    while (!isOver) await broker.update('APPEND', ...elements)
  })
  return async () => {
    isOver = true
    await Promise.all(clients)
  }
}

test(
  'while everything is traced under load the page can be used, and the end needs no tab',
  needsBrowser,
  async (t) => {
    const broker = await RunningBroker.start(t, ['-localIp', '127.0.0.1', '-partitions', '2'])
    const browser = await startBrowser(t)
    const tab = await ConsoleTab.open(browser, broker.url, 'trace')
    const { page } = tab
    await tab.drawn('trace')
    const rows = page.locator('main tbody tr')
    const viewer = await EventReader.open(`${broker.url}/admin/log/tail`)
    await broker.send('PUT', '/log/trace/0-255?for=600')
    const end = updates(broker)
    t.teardown(end)

    await rows.first().waitFor()
    await page.getByLabel('Text', { exact: true }).fill('R1')
    // What is typed is looked for a moment later, and what was shown before goes then.
    await page.waitForURL(/text=R1/)
    await rows.first().waitFor()
    await page.getByRole('button', { name: 'Pause', exact: true }).last().click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    const stillness = () => rows.allTextContents()
    const still = await stillness()
    let [lines, skipped] = [0, 0]
    for await (const { name, data } of viewer.all()) {
      if (name === 'line') lines += 1
      if (name === 'skipped') skipped += Number(JSON.parse(data).lines)
      if (lines + skipped >= flood / 4) break
    }
    viewer.close()
    t.same(await stillness(), still, 'what is paused stands still')
    t.ok(skipped > 0, `${skipped} of ${lines + skipped} were left out`)
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.waitForFunction((before) => document.querySelectorAll('main tbody tr').length > before, 0)
    t.ok((await rows.count()) <= 501, 'as many rows as are kept')
    t.same(tab.takeProblems(), [])

    await broker.send('PUT', '/log/trace/0-255?for=1')
    await tab.close()
    await end()
    const levels = async () => Object((await broker.send('GET', '/log/trace')).json).tracelevels
    await until(async () => (await levels()) === 'empty')
  },
)
