import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { memoryNeeded } from '../src/runtime/resources/memory-needed.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

/** The long form: `RIGEL_TEST_MEMORY_ROUNDS=50`. */
const rounds = Number(process.env['RIGEL_TEST_MEMORY_ROUNDS'] ?? 1)
const entities = 100
const value = 'x'.repeat(900_000)

const limits = {
  httpThreads: 1,
  queryThreads: 1,
  readCache_MiB: 16,
  entityCache_MiB: 16,
  requestMemory_MiB: 16,
  responseMemory_MiB: 64,
  pageMaxSize: 8 * 2 ** 20,
  notifications: { memory_MiB: 16, window_MiB: 32, queueMax_MB: 4096, streams: { listeners: 1000 } },
}

test('large entities, pages, bodies and slow readers end no broker with a small heap, and take no more than its flags say', async (t) => {
  const { process_MiB, mainHeap_MiB } = memoryNeeded(limits, 1)
  const flags = [
    '-partitions',
    '1',
    '-httpThreads',
    '1',
    '-queryThreads',
    '1',
    '-readCache',
    '16',
    '-entityCache',
    '16',
  ]
  flags.push(
    '-notifMemory',
    '16',
    '-requestMemory',
    '16',
    '-answerMemory',
    '64',
    '-pageMaxSize',
    `${limits.pageMaxSize}`,
  )
  const broker = await RunningBroker.start(t, flags, { nodeOptions: [`--max-old-space-size=${mainHeap_MiB}`] })
  let most_MiB = 0
  const measuring = setInterval(() => {
    most_MiB = Math.max(most_MiB, anonymous_MiB(broker.pid))
  }, 100)
  t.teardown(() => clearInterval(measuring))
  const statuses = new Map<number, number>()
  const send = async (verb: string, path: string, body?: unknown): Promise<void> => {
    const { status } = await broker.send(verb, path, body)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  const large = (n: number) => ({ id: `Large${n}`, type: 'Large', attributes: [{ name: 'v', type: 't', value }] })
  for (let round = 0; round < rounds; round += 1) {
    await each(entities, 8, (n) =>
      send('POST', '/v1/updateContext', { updateAction: 'APPEND', contextElements: [large(n)] }),
    )
    await each(2 * entities, 16, (n) => send('GET', `/v1/contextEntities/Large${n % entities}`))
    await each(60, 20, (n) => send('GET', `/v1/contextEntities?limit=${1 + (n % 12)}&orderBy=${n % 2 ? 'v' : ''}`))
    await each(20, 10, (n) =>
      send('POST', `/v1/queryContext?limit=${1 + n}&details=on`, matching(`${n}[ab]*x[xy]{200}z`)),
    )
    const silent = Array.from({ length: 100 }, (_, n) => unread(broker.port, `/v1/contextEntities/Large${n}`))
    await delay(500)
    for (const socket of silent) socket.destroy()
  }
  // The broker hears of the ends of a hundred connections one by one, and their memory is free when it has.
  const again = async () => (await broker.send('GET', '/v1/contextEntities/Large1')).status
  await until(async () => (await again()) !== 503)
  t.equal(await again(), 200)
  t.ok((statuses.get(200) ?? 0) >= 2 * entities, JSON.stringify([...statuses]))
  t.ok((statuses.get(413) ?? 0) > 0, 'large pages are refused')
  t.notOk(statuses.has(500), JSON.stringify([...statuses]))
  t.ok(most_MiB < process_MiB, `${most_MiB} MiB of ${process_MiB}`)
})

/** Does something `number` times, this many at a time. */
async function each(number: number, atOnce: number, act: (n: number) => Promise<void>): Promise<void> {
  const rest = Array.from({ length: number }, (_, n) => n).values()
  const one = async (): Promise<void> => {
    for (const n of rest) await act(n)
  }
  await Promise.all(Array.from({ length: atOnce }, one))
}

function matching(pattern: string): unknown {
  const scopes = [{ type: 'FIWARE::StringQuery', value: `v~=${pattern}` }]
  return { entities: [{ id: '.*', isPattern: 'true', type: 'Large' }], restriction: { scopes } }
}

/** A client that asks and does not read. */
function unread(port: number, path: string) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {}) // It may be cut off.
  socket.pause()
  for (let n = 0; n < 4; n += 1) socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  return socket
}

/** Resident memory without mapped files. */
function anonymous_MiB(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    return Math.round(Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024)
  } catch {
    return 0 // The process has ended, which the requests notice.
  }
}
