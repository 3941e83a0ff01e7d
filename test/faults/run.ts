import { createServer, type Server } from 'node:http'
import type { Test } from 'tap'
import { items, member } from '../../bench/ngsi.js'
import { listening } from '../far-end.js'
import type { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { violationsOf } from './check.js'
import type { Target } from './client.js'
import { History, unnotified } from './history.js'
import { Load, type LoadSize, mixedLoad, valuesOf } from './load.js'

/** Whether the long forms of the tests run: `RIGEL_FAULTS=long`. */
export const isLong = process.env['RIGEL_FAULTS'] === 'long'

/** A broker under load whose process a test may disturb. */
export class Run implements Target {
  readonly broker: RunningBroker
  readonly history = new History()
  restarts = 0
  isOver = false
  #up: Promise<void> = Promise.resolve()

  constructor(broker: RunningBroker) {
    this.broker = broker
  }

  get url(): string {
    return this.broker.url
  }

  up(): Promise<void> {
    return this.#up
  }

  /** Lets the clients end what they have begun. */
  end(): void {
    this.isOver = true
  }

  /** Ends the process without a warning and starts it again; gives the milliseconds until it answers. */
  kill(): Promise<number> {
    return this.restart(() => this.broker.end('SIGKILL'))
  }

  /** Has the process end and starts it again; gives the milliseconds until it answers. */
  async restart(end: () => Promise<unknown>): Promise<number> {
    let isUp = (): void => {}
    this.#up = new Promise((resolve) => {
      isUp = resolve
    })
    await end()
    const began_ms = performance.now()
    await this.broker.run()
    this.restarts += 1
    isUp()
    return performance.now() - began_ms
  }
}

/**
 * Puts a load on a broker, does something to it meanwhile, and checks the history of all clients when it is over. What
 * the check finds fails the test.
 */
export async function underLoad(
  t: Test,
  broker: RunningBroker,
  disturb: (run: Run) => Promise<void>,
  size: LoadSize = mixedLoad,
): Promise<Run> {
  const run = new Run(broker)
  const { history } = run
  const receiver = await listen(t, history)
  const subscriptions = [await subscribe(broker, receiver, '.*'), await subscribe(broker, receiver, '^Probe')]
  const load = new Load(run, history, size, subscriptions)
  // A test that its time limit has ended must not leave clients that go on for ever.
  t.teardown(() => run.end())
  const { ended } = await load.start()
  try {
    await disturb(run)
  } finally {
    run.end()
    await ended
  }
  await load.readAll()
  await until(
    () => unnotified(history) === 0,
    () => `all changes are notified: ${unnotified(history)} are not`,
    () => history.arrivals,
  ).catch((fault) => t.fail(fault.message))
  const violations = violationsOf(history)
  const acknowledged = history.count('acknowledged')
  t.comment(
    `${acknowledged} updates acknowledged, ${history.count('refused')} refused, ${history.count('unknown')} unknown, ` +
      `${history.reads} reads, ${history.walks.length} walks, ${history.arrivals} notifications, ${run.restarts} restarts`,
  )
  if (violations.length > 0) t.comment(broker.output.slice(-5000))
  t.same(violations.slice(0, 20), [], `${violations.length} violations`)
  t.ok(acknowledged > history.entities.size, 'updates were acknowledged')
  t.ok(history.reads > history.entities.size, 'reads were answered')
  return run
}

/** A receiver of notifications that notes each in the history of its entity. */
async function listen(t: Test, history: History): Promise<string> {
  const server: Server = createServer((request, response) => {
    const pieces: Buffer[] = []
    // A sender that was killed leaves half of a request: it does not count as received.
    request.on('error', () => {})
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      note(history, String(request.headers['rigel-notification-id']), Buffer.concat(pieces).toString())
      response.writeHead(200, { 'Content-Length': 0 }).end()
    })
  })
  return `http://127.0.0.1:${await listening(t, server)}/changes`
}

function note(history: History, id: string, body: string): void {
  const json: unknown = JSON.parse(body)
  const subscription = String(member(json, 'subscriptionId'))
  for (const response of items(member(json, 'contextResponses'))) {
    const element = member(response, 'contextElement')
    const entity = history.entities.get(String(member(element, 'id')))
    if (entity) entity.arrivals.push({ subscription, id, values: valuesOf(element) })
    else history.faults.push(`a notification about ${String(member(element, 'id'))}, which nobody wrote`)
  }
}

async function subscribe(broker: RunningBroker, reference: string, id: string): Promise<string> {
  const { json, text } = await broker.send('POST', '/v1/subscribeContext', {
    entities: [{ type: '', isPattern: 'true', id }],
    reference,
    duration: 'P1Y',
    notifyConditions: [{ type: 'ONCHANGE', condValues: ['count0'] }],
  })
  const subscription = member(member(json, 'subscribeResponse'), 'subscriptionId')
  if (typeof subscription !== 'string') throw new Error(`no subscription was made: ${text}`)
  return subscription
}
