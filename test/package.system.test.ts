import { join } from 'node:path'
import { test } from 'tap'
import { ConsoleTab, needsBrowser, startBrowser } from './console/browser.js'
import { installPackage } from './packed.js'
import { RunningBroker } from './running.js'

test(
  'what is installed from the package shows its console, where nobody but this machine can be reached',
  needsBrowser,
  async (t) => {
    const folder = t.testdir()
    const program = join(installPackage(folder), 'dist', 'program', 'src', 'main.cjs')
    const broker = await RunningBroker.startOn(t, join(folder, 'data'), [], { program })
    const tab = await ConsoleTab.open(await startBrowser(t), broker.url)
    await tab.drawn('overview')
    await tab.page.getByText('All is well.').waitFor()
    t.same(tab.takeProblems(), [])
  },
)
