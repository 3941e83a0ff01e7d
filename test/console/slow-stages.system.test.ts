import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { t as root, type Test, test } from 'tap'
import { shardOf } from '../../src/hash.js'
import type { EntityId, Tenant } from '../../src/model/context/entity.js'
import type { SlowRequest } from '../../src/observe/measure/slow-requests.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { applyAtOnce, holdWriteLock } from '../write-lock.js'
import { appearances, ConsoleTab, needsBrowser, startBrowser } from './browser.js'

const partitions = 2
const broker = await RunningBroker.start(root, [
  ...['-partitions', `${partitions}`, '-httpThreads', '2', '-queryThreads', '2', '-dbPoolSize', '1'],
])

/** How long a write lock is held at least. */
const held_ms = 60

/** So many ids of a partition. */
function idsOf(partition: number, count: number): readonly string[] {
  const ids: string[] = []
  for (let at = 0; ids.length < count; at += 1) {
    if (shardOf('' as Tenant, `Pump${at}` as EntityId, partitions) === partition) ids.push(`Pump${at}`)
  }
  return ids
}

async function metric(name: string, partition = 0): Promise<number> {
  const { text } = await broker.send('GET', '/metrics')
  return Number(new RegExp(`^${name}\\{partition="${partition}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0)
}

async function reaches(name: string, value: number, partition = 0): Promise<void> {
  await until(async () => (await metric(name, partition)) >= value, `${name} reaches ${value}`)
}

async function slow(route: RegExp): Promise<readonly SlowRequest[]> {
  const { requests } = Object((await broker.send('GET', '/admin/slow')).json)
  return requests.filter((request: SlowRequest) => route.test(`${request.method} ${request.route}`))
}

/** All stages are together what was measured: no more than the whole, and of the whole no part is lost. */
function fits(t: Test, { stages_ms, duration_ms, log_ms }: SlowRequest): void {
  const sum = Object.values(stages_ms).reduce((sofar, each) => sofar + each, 0)
  t.ok(sum <= duration_ms + 0.01, `${sum} of ${duration_ms} ms: ${JSON.stringify(stages_ms)}`)
  const { commit } = stages_ms
  if (commit !== undefined) t.ok(log_ms !== undefined && log_ms <= commit, `log ${log_ms} of ${commit} ms`)
}

test('a turn that cannot be applied is seen in the commit of its own request, and in the mailbox of those behind it', async (t) => {
  const [one = '', two = '', three = ''] = idsOf(0, 3)
  const [elsewhere = ''] = idsOf(1, 1)
  const filled = await broker.update('APPEND', ...[one, two, three, elsewhere].map((id) => ({ type: 'T', id })))
  t.equal(filled.status, 200)
  await applyAtOnce(broker)
  t.equal((await broker.send('PUT', '/admin/slow?above=20')).status, 200)
  const lock = await holdWriteLock(t, join(broker.folder, 'partition-0'))
  const logged = 'rigel_log_append_duration_seconds_count'
  const before = await metric(logged)
  const beforeElsewhere = await metric(logged, 1)
  const level = (value: number) => ({ level: { type: 'Number', value } })
  const first = broker.send('POST', `/v2/entities/${one}/attrs`, level(1))
  await reaches(logged, before + 1)
  const both = ['1', '2'].map((value, at) => {
    return { type: 'T', id: [three, elsewhere][at], attributes: [{ name: 'level', type: 'n', value }] }
  })
  const later = [broker.send('PUT', `/v2/entities/${two}/attrs`, level(2)), broker.update('APPEND', ...both)]
  await reaches('rigel_mailbox_depth', 3)
  await reaches(logged, beforeElsewhere + 1, 1)
  // The other partition has answered before the lock is released: this one is the slowest.
  await until(async () => (await metric('rigel_mailbox_depth', 1)) === 0, 'the other partition has answered')
  await delay(held_ms)
  await lock.release()
  for (const { status } of await Promise.all([first, ...later])) t.ok(status < 300, `${status}`)

  const [own] = await slow(/^POST \/v2\/entities\/\{id\}/)
  t.match(own, { partition: 0, partitions: 1, status: 204 })
  const { commit = 0 } = own?.stages_ms ?? {}
  t.ok((own?.log_ms ?? 0) > 0, 'the log was synced')
  t.ok(commit - (own?.log_ms ?? commit) >= held_ms - 1, `of its commit of ${commit} ms the log took ${own?.log_ms} ms`)
  const [single] = await slow(/^PUT \/v2\/entities/)
  t.match(single, { partition: 0, partitions: 1 })
  const [several] = await slow(/updateContext/)
  t.match(several, { partition: 0, partitions: 2 }, 'the slowest of two')
  for (const request of [own, single, several]) {
    if (request === undefined) throw new Error('a request that waited was not kept')
    fits(t, request)
    const { mailbox = 0 } = request.stages_ms
    if (request !== own) t.ok(mailbox >= held_ms - 1, `${mailbox} ms in the mailbox`)
  }
})

test('a wait for a read handle is seen in the request that waited, whichever thread reads', async (t) => {
  const attributes = Array.from({ length: 20 }, (_, at) => ({ name: `a${at}`, value: 'x'.repeat(50) }))
  const elements = Array.from({ length: 1000 }, (_, at) => ({ type: 'Long', id: `L${at}`, attributes }))
  for (let first = 0; first < elements.length; first += 250) {
    t.equal((await broker.update('APPEND', ...elements.slice(first, first + 250))).status, 200)
  }
  t.equal((await broker.send('PUT', '/admin/slow?above=1')).status, 200)
  const entities = [{ id: '9$', isPattern: 'true' }]
  const scan = () => broker.send('POST', '/v1/queryContext?details=on', { entities })
  const waited = (requests: readonly SlowRequest[]) => requests.filter(({ stages_ms }) => stages_ms['handle'])
  const found = await until(async () => {
    await Promise.all(Array.from({ length: 12 }, scan))
    const found = waited(await slow(/queryContext/))
    return found.length > 0 && found
  }, 'one of several scans has waited for the only handle')
  for (const request of found) {
    t.match(request, { partitions: 2, partition: Number })
    fits(t, request)
  }
  const reads = await until(async () => {
    const scans = Promise.all(Array.from({ length: 12 }, scan))
    await Promise.all(Array.from({ length: 100 }, (_, at) => broker.send('GET', `/v2/entities/L${at}`)))
    // What was read is known from then on, unless it changes.
    t.equal((await broker.update('UPDATE', ...elements.slice(0, 100))).status, 200)
    await scans
    const reads = waited(await slow(/^GET \/v2\/entities\/\{id\}/))
    return reads.length > 0 && reads
  }, 'a read of one id has waited as well')
  for (const request of reads) {
    t.match(request, { partitions: 1, partition: Number })
    fits(t, request)
  }
})

test('under load the stages of every request fit into it', async (t) => {
  t.equal((await broker.send('PUT', '/admin/slow?above=1')).status, 200)
  const ids = Array.from({ length: 600 }, (_, at) => `R${at}`)
  const batch = (value: number) =>
    broker.update(
      'APPEND',
      ...ids.map((id) => ({ id, type: 'T', attributes: [{ name: 'a', type: 'n', value: `${value}` }] })),
    )
  const parsed = (value: number) => {
    const entities = ids.map((id) => ({ id, type: 'T', a: { type: 'n', value } }))
    return broker.send('POST', '/v2/op/update', { actionType: 'append', entities })
  }
  await Promise.all(Array.from({ length: 6 }, (_, value) => [batch(value), parsed(value + 100)]).flat())
  const updates = await slow(/updateContext$|op\/update$/)
  t.ok(updates.some(({ route }) => route === '/v2/op/update') && updates.some(({ route }) => route.startsWith('/v1')))
  for (const request of updates) {
    t.match(request, { partitions: 2, partition: Number })
    const { mailbox = 0, decide = 0, commit = 0 } = request.stages_ms
    t.ok(mailbox > 0 && decide > 0 && commit > 0, JSON.stringify(request.stages_ms))
    fits(t, request)
  }
  t.equal((await broker.send('PUT', '/admin/slow?above=0')).status, 200)
})

test('the console shows the stages in the colours of Overview, and names the partition', needsBrowser, async (t) => {
  const tab = await ConsoleTab.open(await startBrowser(t), broker.url, 'requests')
  await tab.drawn('requests')
  const row = tab.page
    .locator('tr', { hasText: '/v1/updateContext' })
    .filter({ hasText: /[01], slowest of 2/ })
    .first()
  await row.waitFor()
  t.match(await row.textContent(), /mailbox .*decide .*commit .*\(log .*operation /)
  const colourOf = (selector: string) =>
    tab.page
      .locator(selector)
      .first()
      .evaluate((element) => getComputedStyle(element).backgroundColor)
  const stages = ['permit', 'mailbox', 'commit']
  const colours = await Promise.all(stages.map((stage) => colourOf(`.stages-bar .tone-${stage}`)))
  t.equal(new Set(colours).size, stages.length)
  const commit = row.locator('.stages-bar .tone-commit')
  t.ok(await commit.evaluate((element) => element.getBoundingClientRect().width > 0))
  for (const look of appearances) {
    await tab.look(look)
    t.notOk(await tab.scrollsSideways(), `${look.width}, ${look.theme}`)
    t.same(await tab.accessibilityFaults(), [], `${look.width}, ${look.theme}`)
  }
  await tab.look(appearances[0])
  await tab.show('overview')
  await tab.page.locator('.stages').waitFor()
  t.same(await Promise.all(stages.map((stage) => colourOf(`.stages th .tone-${stage}`))), colours)
  t.same(tab.takeProblems(), [])
})
