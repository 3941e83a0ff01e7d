import { test } from 'tap'
import { EtcdMembers, noEtcd } from '../cluster/etcd-members.js'
import { freshName } from '../cluster/given.js'
import { nodeFlags, tokenFlags } from '../cluster/given-nodes.js'
import { RunningBroker } from '../running.js'
import { appearances, ConsoleTab, needsBrowser, startBrowser } from './browser.js'

const skip = noEtcd === false ? needsBrowser : { skip: noEtcd }

test('the console of a broker in a cluster has a page more, which shows its nodes and partitions', skip, async (t) => {
  const folder = t.testdir()
  const etcd = await EtcdMembers.start(t, 1)
  const cluster = freshName()
  const flags = [...nodeFlags(etcd, cluster, 'here'), ...tokenFlags(folder)]
  const broker = await RunningBroker.startOn(t, `${folder}/broker`, [...flags, '-localIp', '127.0.0.1'])
  const tab = await ConsoleTab.open(await startBrowser(t), broker.url)
  const { page } = tab
  await tab.drawn('overview')
  await page.getByRole('link', { name: 'Cluster', exact: true }).click()
  await tab.drawn('cluster')
  await page
    .locator('table', { hasText: 'member' })
    .locator('td', { hasText: /^here$/ })
    .first()
    .waitFor()
  await page
    .locator('table', { hasText: 'last record' })
    .locator('tbody[data-rows] td', { hasText: /^here$/ })
    .nth(1)
    .waitFor()
  for (const look of appearances) {
    await tab.look(look)
    t.same(await tab.accessibilityFaults(), [], `${look.theme}, ${look.width} wide`)
    t.notOk(await tab.scrollsSideways(), `${look.theme}, ${look.width} wide`)
  }
  t.same(tab.takeProblems(), [])

  // One that is of none has neither the page nor a link to it.
  const alone = await RunningBroker.startOn(t, `${folder}/alone`, ['-localIp', '127.0.0.1', '-partitions', '1'])
  const other = await ConsoleTab.open(await startBrowser(t), alone.url)
  await other.drawn('overview')
  t.equal(await other.page.getByRole('link', { name: 'Cluster', exact: true }).count(), 0)
})
