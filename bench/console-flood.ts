import type { Browser } from 'playwright-core'
import { MeasuredTab } from './console-tab.js'
import { updateDevice } from './device.js'
import type { Harness } from './harness.js'
import { fresh } from './request.js'
import { rounded, times } from './rounds.js'
import { everyArea, setTraces } from './viewers.js'
import { watch } from './watchers.js'

const connections = 64

/** How the page of the trace can be used while the broker writes all the lines that it can. */
export async function measureFlood(harness: Harness, browser: Browser): Promise<void> {
  const { devices, duration_s } = harness.options
  const requests = Array.from({ length: devices }, (_, number) => updateDevice(number, fresh))
  await harness.withDevices([], async (url) => {
    const tab = await MeasuredTab.open(browser)
    await tab.load(url)
    await tab.show('trace')
    await setTraces(url, 'PUT', everyArea)
    const end = await watch(`${url}/admin/log/tail`, 1)
    const pauses = tab.longestPause_ms(1000 * duration_s)
    const { rate_per_s } = await harness.load('console, all traces', {
      ...{ url, connections, requests, checked: true },
      ...times(duration_s),
    })
    harness.report.add({
      ...{ bench: 'console', case: 'page of the trace while all is traced' },
      updates_per_s: Math.round(rate_per_s),
      lines_per_s: Math.round(end().events / duration_s),
      longest_pause_ms: rounded(await pauses),
    })
    await setTraces(url, 'DELETE', '')
    await tab.close()
  })
}
