import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { addressOf, Connection } from '../bench/connection.js'
import { written } from '../bench/request.js'
import type { Behaviour, OpenReceivers, ReceiverReport, ReportRequest } from './receivers-process.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

const entities = 1000
/** A long form is asked for by hand. */
const updatesPerEntity = process.env['RIGEL_TORTURE'] === 'long' ? 100 : 6
const connections = 64
/** One in ten subscriptions is to a pattern that ten entities match; the others are to one entity each. */
const patterns = 100
const exact = 900
const kills = 3

/**
 * What comes twice had come shortly before the broker was killed, which had not yet stored that; a receiver that lags
 * behind notes it shortly after. That a notice was accepted is stored behind updates, so it waits for the disk as long as they do.
 */
const aroundKill_ms = 10_000

/** For how long the broker waits for the response of a receiver. */
const httpTimeout_ms = 10_000

/** A kill, from its signal until the process had ended, which takes seconds on a busy machine. */
interface Kill {
  readonly from_ms: number
  readonly to_ms: number
  /** The longest time that an update had taken by then. */
  readonly slowest_ms: number
}

function isAround(at_ms: number, { from_ms, to_ms, slowest_ms }: Kill): boolean {
  return at_ms > from_ms - aroundKill_ms - slowest_ms && at_ms < to_ms + aroundKill_ms
}

/** For how long a kill had ended, or was still to come, at a time; 0 during one. */
function distanceOf_ms(at_ms: number, killed: readonly Kill[]): number {
  return Math.min(...killed.map(({ from_ms, to_ms }) => Math.max(from_ms - at_ms, at_ms - to_ms, 0)))
}

/** When the broker has given up receivers, by its own log: the dates of the lines, by the receivers' ports. */
function givenUp(output: string): ReadonlyMap<number, readonly number[]> {
  const dates = new Map<number, number[]>()
  const lines = output.matchAll(/^\{"time":"([^"]+)".*NotificationError http:\/\/127\.0\.0\.1:(\d+)\/.*: timeout"\}$/gm)
  for (const [, date = '', port] of lines) {
    const ofPort = dates.get(Number(port)) ?? []
    ofPort.push(Date.parse(date))
    dates.set(Number(port), ofPort)
  }
  return dates
}

/** Whether the broker has given up the attempt by which a notice came first at a time; a busy machine notes it late. */
function isGivenUp(at_ms: number, dates: readonly number[] = []): boolean {
  return dates.some((date) => date >= at_ms && date < at_ms + httpTimeout_ms + aroundKill_ms)
}

const behaviours: readonly Behaviour[] = Array.from({ length: 50 }, (_, at) => {
  if (at < 5) return 'refuses'
  if (at < 10) return 'hangs'
  if (at < 15) return 'fails'
  return at < 20 ? 'restarts' : 'live'
})

/** The receivers, in a process of their own. */
class Receivers {
  readonly #child = fork(fileURLToPath(new URL('receivers-process.js', import.meta.url)))

  constructor(t: Test) {
    t.teardown(() => this.#child.kill('SIGKILL'))
  }

  async open(): Promise<readonly number[]> {
    const question: OpenReceivers = { kind: 'open', behaviours }
    return this.#ask(question) as Promise<readonly number[]>
  }

  report(): Promise<readonly ReceiverReport[]> {
    const question: ReportRequest = { kind: 'report' }
    return this.#ask(question) as Promise<readonly ReceiverReport[]>
  }

  async #ask(question: OpenReceivers | ReportRequest): Promise<unknown> {
    const response = once(this.#child, 'message')
    this.#child.send(question)
    return (await response)[0]
  }
}

function nameOf(entity: number): string {
  return `Probe-${String(entity).padStart(3, '0')}`
}

/** Which receiver a subscription is for, and the entities that it is about. */
interface Meant {
  readonly receiver: number
  readonly entities: readonly number[]
  readonly element: { readonly id: string; readonly isPattern: string; readonly type: string }
}

const meant: readonly Meant[] = [
  ...Array.from({ length: exact }, (_, at) => ({
    receiver: at % behaviours.length,
    entities: [at],
    element: { id: nameOf(at), isPattern: 'false', type: 'Probe' },
  })),
  ...Array.from({ length: patterns }, (_, at) => ({
    receiver: (at * 7) % behaviours.length,
    entities: Array.from({ length: 10 }, (_, last) => at * 10 + last),
    element: { id: `^Probe-${String(at).padStart(2, '0')}.$`, isPattern: 'true', type: 'Probe' },
  })),
]

async function subscribe(
  broker: RunningBroker,
  ports: readonly number[],
  { receiver, element }: Meant,
): Promise<string> {
  const { json } = await broker.send('POST', '/v1/subscribeContext', {
    entities: [element],
    reference: `http://127.0.0.1:${ports[receiver]}/inbox`,
    notifyConditions: [{ type: 'ONCHANGE', condValues: ['count'] }],
  })
  return (json as { subscribeResponse: { subscriptionId: string } }).subscribeResponse.subscriptionId
}

/** Updates all entities of one connection, each value again until it is acknowledged. */
async function feed(
  broker: RunningBroker,
  own: readonly number[],
  acknowledged: (took_ms: number) => void,
): Promise<void> {
  const address = addressOf(broker.url)
  const connection = new Connection(address)
  for (let value = 1; value <= updatesPerEntity; value += 1) {
    for (const entity of own) {
      const attributes = [{ name: 'count', type: 'number', value: String(value) }]
      const contextElements = [{ id: nameOf(entity), type: 'Probe', attributes }]
      const body = JSON.stringify({ contextElements, updateAction: 'APPEND' })
      const request = written({ verb: 'POST', path: '/v1/updateContext', body }, address)
      let begun_ms = 0
      await until(async () => {
        begun_ms = performance.now()
        return await accepted(connection, request)
      })
      acknowledged(performance.now() - begun_ms)
    }
  }
  connection.close()
}

async function accepted(connection: Connection, request: string): Promise<boolean> {
  try {
    const { status, text } = await connection.ask(request)
    return status === 200 && !text.includes('errorCode')
  } catch {
    return false // The broker was killed; the same value is sent again, and is no change if it was stored.
  }
}

/** Feeds at full speed; the broker is killed and started again whenever another part of the updates is done. */
async function feedAndKill(broker: RunningBroker): Promise<readonly Kill[]> {
  const killed: Kill[] = []
  const killEvery = (entities * updatesPerEntity) / (kills + 1)
  let done = 0
  let killing: Promise<void> = Promise.resolve()
  let slowest_ms = 0
  const kill = async (): Promise<void> => {
    const from_ms = Date.now()
    await broker.end('SIGKILL')
    killed.push({ from_ms, to_ms: Date.now(), slowest_ms })
    await broker.run()
  }
  const acknowledged = (took_ms: number): void => {
    done += 1
    slowest_ms = Math.max(slowest_ms, took_ms)
    if (done % killEvery === 0 && done < entities * updatesPerEntity) killing = killing.then(kill)
  }
  const all = Array.from({ length: entities }, (_, entity) => entity)
  await Promise.all(
    Array.from({ length: connections }, (_, at) =>
      feed(
        broker,
        all.filter((entity) => entity % connections === at),
        acknowledged,
      ),
    ),
  )
  await killing
  return killed
}

function missingOf(reports: readonly ReceiverReport[], ids: readonly string[]): number {
  let missing = 0
  for (const [at, { receiver, entities: own }] of meant.entries()) {
    if (!isLive(receiver)) continue
    for (const entity of own) {
      missing += updatesPerEntity - (reports[receiver]?.reached[`${ids[at]} ${nameOf(entity)}`] ?? 0)
    }
  }
  return missing
}

function isLive(receiver: number): boolean {
  return behaviours[receiver] === 'live' || behaviours[receiver] === 'restarts'
}

async function untilComplete(receivers: Receivers, ids: readonly string[]): Promise<readonly ReceiverReport[]> {
  let missing = Number.POSITIVE_INFINITY
  return until(
    async () => {
      const reports = await receivers.report()
      missing = missingOf(reports, ids)
      return missing === 0 && reports
    },
    () => `all notices of live receivers come: ${missing} are missing`,
    () => missing,
  )
}

test('every live receiver ends with every notice, in order, though receivers fail and the broker is killed', async (t) => {
  t.setTimeout(600_000)
  const receivers = new Receivers(t)
  const ports = await receivers.open()
  // A live receiver on a machine that is busy may take seconds to answer, which is no reason to send again.
  const flags = [
    '-notifRetryMin',
    '200',
    '-notifRetryMax',
    '1000',
    '-httpTimeout',
    `${httpTimeout_ms}`,
    '-relogAlarms',
    '-partitions',
    '2',
  ]
  const broker = await RunningBroker.start(t, flags)
  const ids: string[] = []
  for (const one of meant) ids.push(await subscribe(broker, ports, one))
  const killed = await feedAndKill(broker)
  t.equal(killed.length, kills)
  const reports = await untilComplete(receivers, ids)
  t.equal(missingOf(reports, ids), 0, 'every notice of every live receiver has come')
  t.same(
    reports.flatMap(({ disordered }) => disordered),
    [],
    'no notice has come before an earlier one of its line',
  )
  const gaveUp = givenUp(broker.output)
  for (const [at, { repeated }] of reports.entries()) {
    if (behaviours[at] !== 'live') continue
    const unexplained = repeated
      .filter((first) => !killed.some((kill) => isAround(first, kill)))
      .filter((first) => !isGivenUp(first, gaveUp.get(ports[at] ?? 0)))
    t.same(unexplained, [], `receiver ${at} got notices twice only around crashes and where the broker has given up`)
  }
  const repeated = reports.flatMap((report, at) => (behaviours[at] === 'live' ? report.repeated : []))
  const furthest_ms = Math.max(0, ...repeated.map((first) => distanceOf_ms(first, killed)))
  const slowest_ms = killed.map((kill) => `${Math.round(kill.slowest_ms)} ms`).join(', ')
  t.comment(`${repeated.length} notices came more than once, up to ${furthest_ms} ms from a kill`)
  t.comment(`by each kill an update had taken up to ${slowest_ms}`)
  await checkStates(t, broker, ids)
})

interface State {
  readonly id: string
  readonly status: string
  readonly queueDepth: number
}

async function statesOf(broker: RunningBroker): Promise<ReadonlyMap<string, State>> {
  const { json } = await broker.send('GET', '/admin/subscriptions')
  return new Map((json as readonly State[]).map((state) => [state.id, state]))
}

/**
 * The states when all receivers that never accept have failed, and nothing waits for the others: attempts at those that hang take their
 * time, and what was accepted leaves its queue a moment later.
 */
function whenFailed(broker: RunningBroker, ids: readonly string[]): Promise<ReadonlyMap<string, State>> {
  return until(async () => {
    const states = await statesOf(broker)
    const isOver = meant.every(({ receiver }, at) => {
      const state = states.get(ids[at] ?? '')
      return isLive(receiver) ? state?.queueDepth === 0 : state?.status === 'failed'
    })
    return isOver && states
  }, 'receivers that never accept have failed, and nothing waits for the others')
}

/** Operators see which receivers fail, and what waits for them. */
async function checkStates(t: Test, broker: RunningBroker, ids: readonly string[]): Promise<void> {
  const states = await whenFailed(broker, ids)
  for (const [at, { receiver, entities: own }] of meant.entries()) {
    const state = states.get(ids[at] ?? '')
    const waiting = isLive(receiver) ? 0 : own.length * updatesPerEntity
    t.equal(state?.queueDepth, waiting, `what waits for receiver ${receiver}, which ${behaviours[receiver]}`)
    if (!isLive(receiver)) t.equal(state?.status, 'failed', `receiver ${receiver}, which ${behaviours[receiver]}`)
  }
}
