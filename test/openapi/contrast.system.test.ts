import { test } from 'tap'
import { appearances, ConsoleTab, needsBrowser, startBrowser } from '../console/browser.js'
import { RunningBroker } from '../running.js'

test('the pages of the reference can be read in both themes', needsBrowser, async (t) => {
  const broker = await RunningBroker.start(t)
  const tab = await ConsoleTab.open(await startBrowser(t), broker.url, '', appearances[0])
  for (const colorScheme of ['light', 'dark'] as const) {
    await tab.page.emulateMedia({ colorScheme })
    for (const path of ['/docs', '/docs/flags']) {
      await tab.page.goto(`${broker.url}${path}`)
      await tab.page.evaluate(() => {
        // All of them look alike, and would take very long.
        for (const [index, each] of document.querySelectorAll('details').entries()) {
          if (index < 10) each.open = true
          else each.remove()
        }
      })
      t.same((await tab.accessibilityFaults('color-contrast')).slice(0, 3), [], `${path} ${colorScheme}`)
    }
  }
})
