import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { checkCommand } from '../../src/data/offline/check-command.js'
import { exportCommand } from '../../src/data/transfer/export-command.js'
import { importCommand } from '../../src/data/transfer/import-command.js'
import { reshardCommand } from '../../src/data/transfer/reshard-command.js'
import { listening } from '../far-end.js'
import { made } from '../lmdb/given-folder.js'
import { begun, ran } from '../offline/given-command.js'
import { RunningBroker } from '../running.js'
import { mayMount, smallDisk } from '../small-disk.js'
import { until } from '../until.js'
import { exportOf, textOf } from './given-command.js'
import { fill } from './given-data.js'

/** A receiver that refuses what comes until it is let. */
async function receiver(t: Test) {
  const received: { readonly id: string; readonly value: unknown; readonly subscription: string }[] = []
  let accepts = false
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    if (accepts) {
      const { subscriptionId: subscription, data } = JSON.parse(text)
      for (const { id, n } of data) received.push({ id, value: n.value, subscription })
    }
    response.writeHead(accepts ? 204 : 500).end()
  })
  return {
    url: `http://127.0.0.1:${await listening(t, server)}/`,
    received,
    accept: () => {
      accepts = true
    },
  }
}

async function posted(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
}

test('a folder of another number of partitions holds the same, and sends what waits, in order and once', async (t) => {
  const folder = t.testdir()
  const data = join(folder, 'data')
  const flags = ['-multiservice', '-notifRetryMin', '50', '-notifRetryMax', '100']
  const broker = await RunningBroker.startOn(t, data, ['-partitions', '3', ...flags])
  await fill(broker.url)
  const { url, received, accept } = await receiver(t)
  for (const idPattern of ['.*', 'Wait']) {
    await posted(`${broker.url}/v2/subscriptions`, {
      subject: { entities: [{ idPattern, type: 'Waiting' }] },
      notification: { http: { url }, attrs: ['n'] },
    })
  }
  const ids = Array.from({ length: 12 }, (_, number) => `Wait${number}`)
  for (let n = 1; n <= 4; n += 1) {
    const entities = ids.map((id) => ({ id, type: 'Waiting', n: { value: n } }))
    await posted(`${broker.url}/v2/op/update`, { actionType: 'append', entities })
  }
  await broker.endsInOrder(t)

  const [before, after] = [join(folder, 'before'), join(folder, 'after')]
  await ran(exportCommand, [before, '-dbPath', data])
  const resharded = await ran(reshardCommand, ['-partitions', '5', '-dbPath', data])
  t.match(resharded, { code: 0, errors: /has 5 partitions now, with \d+ entities and \d+ waiting notifications?\n/ })
  t.match(resharded.errors, ` ${2 * 4 * ids.length} waiting notifications`, 'all of them wait')
  t.ok(existsSync(join(data, 'partition-4')))
  await ran(exportCommand, [after, '-dbPath', data])
  t.equal(textOf(after), textOf(before))
  const checked = await ran(checkCommand, ['-dbPath', data])
  t.equal(checked.code, 0, checked.errors)

  accept()
  const again = await RunningBroker.startOn(t, data, flags)
  await until(() => received.length >= 2 * 4 * ids.length)
  const subscriptions = new Set(received.map(({ subscription }) => subscription))
  t.equal(subscriptions.size, 2)
  for (const subscription of subscriptions) {
    for (const id of ids) {
      const values = received
        .filter((each) => each.id === id && each.subscription === subscription)
        .map(({ value }) => value)
      t.same(values, [1, 2, 3, 4], `${id} in order`)
    }
  }
  await posted(`${again.url}/v2/op/update`, {
    actionType: 'append',
    entities: [{ id: 'Wait1', type: 'Waiting', n: { value: 5 } }],
  })
  await until(() => received.length >= 2 * 4 * ids.length + 2)
  t.match(await ran(reshardCommand, ['-partitions', '2', '-dbPath', data]), {
    code: 1,
    errors: /in use by another broker/,
  })
  await again.end('SIGTERM')
  t.match(await ran(reshardCommand, ['-partitions', '2', '-dbPath', data]), { code: 1, errors: /--forget-previous/ })
  t.match(await ran(reshardCommand, ['-partitions', '5', '-dbPath', data]), {
    code: 1,
    errors: /has 5 partitions already/,
  })
  t.match(await ran(reshardCommand, []), { code: 2, errors: /needs -partitions N/ })
})

test('killed while the new partitions are built, the folder is as it was', async (t) => {
  const folder = t.testdir()
  const [data, file, again] = [join(folder, 'data'), join(folder, 'file'), join(folder, 'again')]
  const whole = join(folder, 'whole')
  const lines = Array.from({ length: 20_000 }, (_, number) => ({
    kind: 'entity',
    id: `Room${number}`,
    type: 'Room',
    created: '2026-01-01T00:00:00.000Z',
  }))
  writeFileSync(file, exportOf(lines))
  await ran(importCommand, [file, '-dbPath', whole, '-partitions', '2'])
  // One that has ended before this process had its turn is begun again.
  const isKilled = async () => {
    rmSync(data, { recursive: true, force: true })
    cpSync(whole, data, { recursive: true })
    const killed = begun(['reshard', '-partitions', '4', '-dbPath', data])
    const ended = once(killed, 'close')
    await until(() => existsSync(join(data, 'next', 'partition-3', 'log')) || killed.exitCode !== null)
    killed.kill('SIGKILL')
    await ended
    return killed.signalCode === 'SIGKILL'
  }
  await until(isKilled, 'it is killed while it works')
  t.ok(existsSync(join(data, 'next')))
  await ran(exportCommand, [again, '-dbPath', data])
  t.equal(linesOf(again), 20_002)
  t.same(
    readdirSync(data)
      .filter((name) => name !== 'lock')
      .sort(),
    ['control', 'format.json', 'partition-0', 'partition-1'],
  )
  t.match(await ran(reshardCommand, ['-partitions', '1', '-dbPath', data]), { code: 0, errors: '20000 entities' })
  await ran(exportCommand, [file, '-dbPath', data])
  t.ok(textOf(file) === textOf(again))
})

function linesOf(file: string): number {
  return textOf(file).trimEnd().split('\n').length
}

test('a disk without room for the new partitions is said before anything is built', mayMount, async (t) => {
  const data = join(smallDisk(t, 32).path, 'data')
  await made(data, 1)
  t.match(await ran(reshardCommand, ['-partitions', '2', '-dbPath', data]), {
    code: 1,
    errors: /nothing was changed: the copy of the data needs \d+ MiB on the disk of .* \d+ MiB are missing/,
  })
  t.notOk(existsSync(join(data, 'next')))
})
