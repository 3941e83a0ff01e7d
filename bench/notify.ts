import type { DelaysReply } from './delays.js'
import { updateReading } from './device.js'
import type { Bench, Harness } from './harness.js'
import { Helper } from './helper.js'
import type { ReceiverReply, ReceiverTask } from './receiver.js'
import { fresh, type Request } from './request.js'
import { besides, inTurns, medianRate, medians, rounded, times, versus, wholeRate } from './rounds.js'
import { devicesEndingWith, everyDevice, type Meant, oneDevice, subscribe } from './subscriber.js'
import type { Line } from './table.js'

/** The process of a receiver. */
export type Receiver = Helper<ReceiverTask, ReceiverReply>

/** Updates of a load that leaves the machine room, for the delay of single notifications. */
const calm_per_s = 500

const connections = 64

/** Without a notification for so long, the rest is taken for lost. */
const patience_ms = 60_000

export const notify: Bench = {
  name: 'notify',
  question: 'notifications: rate and delay by number of subscriptions; what subscriptions that do not match cost',
  run: async (harness) => {
    const receiver: Receiver = new Helper('./receiver.js')
    try {
      const notified = postedTo(receiver, { bench: 'notify' })
      for (const number of harness.options.subscriptions) {
        await measureNotified(harness, notified, number)
        await compareVersions(harness, notified, number)
      }
      await compareCost(harness, receiver)
    } finally {
      await receiver.end()
    }
  },
}

/** Whom the notifications of a case go to. */
export interface Notified {
  /** What tells its lines from those of others. */
  readonly line: Line
  /** Makes the subscriptions. */
  readonly subscribe: (url: string, meant: readonly Meant[]) => Promise<unknown>
  /** What has come since the last reset. */
  readonly arrived: (reset: boolean) => Promise<DelaysReply>
}

/** Those that the broker posts to a receiver. */
export function postedTo(receiver: Receiver, line: Line): Notified {
  return {
    line,
    subscribe: async (url, meant) => {
      const { url: reference } = await receiver.ask({ reset: true })
      await subscribe(url, `${reference}/inbox`, meant)
    },
    arrived: (reset) => receiver.ask({ reset }),
  }
}

/** As many updates as the broker takes, then as many as leave it room; each of them causes one notification. */
export async function measureNotified(harness: Harness, notified: Notified, subscriptions: number): Promise<void> {
  const { devices, meant } = matching(subscriptions, harness.options.devices)
  const work = async (url: string): Promise<void> => {
    await notified.subscribe(url, meant)
    await receivedBy(notified, subscriptions) // Each is sent the state that it begins with.
    for (const rate_per_s of [undefined, calm_per_s]) {
      await notified.arrived(true)
      const pace = rate_per_s === undefined ? 'full speed' : `${rate_per_s} updates/s`
      const title = `${Object.values(notified.line).join(', ')}, ${subscriptions} subscriptions, ${pace}`
      const result = await harness.load(title, {
        ...times(harness.options.duration_s),
        url,
        connections,
        requests: readings(devices),
        checked: true,
        stamped: true,
        ...(rate_per_s === undefined ? {} : { rate_per_s }),
      })
      const got = await receivedBy(notified, result.sent)
      if (got.received < result.sent) harness.report.fail(`${title}: ${result.sent - got.received} were not notified`)
      harness.report.add({
        ...notified.line,
        case: pace,
        subscriptions,
        updates_per_s: wholeRate(result.rate_per_s),
        notified_per_s: wholeRate((got.received / Math.max(1, got.lasted_ms)) * 1000),
        delay_p50_ms: rounded(got.p50_ms),
        delay_p90_ms: rounded(got.p90_ms),
        delay_p99_ms: rounded(got.p99_ms),
        delay_max_ms: rounded(got.max_ms),
        repeated: got.received - result.sent,
      })
    }
  }
  await harness.withDevices([], work, devices)
}

/**
 * What this version and the other one notify at full speed, in turns: each round ends when all has come, so that no version is
 * ahead by what it leaves for later.
 */
async function compareVersions(harness: Harness, notified: Notified, subscriptions: number): Promise<void> {
  const { against, rounds, duration_s } = harness.options
  if (against === undefined) return
  const { devices, meant } = matching(subscriptions, harness.options.devices)
  const requests = readings(devices)
  const roundsOf = (url: string, title: string) => async (round: number) => {
    await notified.arrived(true)
    const began = performance.now()
    const load = { ...times(duration_s / rounds), url, connections, requests, checked: true, stamped: true }
    const result = await harness.load(`${title}, round ${round}`, load)
    await receivedBy(notified, result.sent)
    return { ...result, rate_per_s: (result.sent * 1000) / (performance.now() - began) }
  }
  await harness.withVersions(async (url, other) => {
    if (other === undefined) return
    for (const each of [url, other]) {
      await notified.subscribe(each, meant)
      await receivedBy(notified, subscriptions)
    }
    const title = `${notified.line['bench']}, ${subscriptions} subscriptions, in turns`
    const { measured, against: others } = await inTurns(
      rounds,
      roundsOf(url, title),
      undefined,
      roundsOf(other, `${title}, the other version`),
    )
    harness.report.add({
      ...notified.line,
      ...{ case: 'full speed, in turns', subscriptions, rounds },
      ...medians(measured),
      ...versus(measured, others),
    })
  }, devices)
}

/** The largest number of subscriptions by the last digits of ids; more than that are to one device each. */
const mostEndings = 1_000

/** Subscriptions of which exactly one matches each update of these devices, so that numbers of them can be compared. */
function matching(
  subscriptions: number,
  devices: number,
): { readonly devices: number; readonly meant: readonly Meant[] } {
  if (subscriptions === 1) return { devices, meant: [everyDevice] }
  const digits = Math.round(Math.log10(subscriptions))
  const numbers = Array.from({ length: subscriptions }, (_, number) => number)
  if (10 ** digits !== subscriptions || subscriptions > mostEndings) {
    return { devices: subscriptions, meant: numbers.map(oneDevice) }
  }
  return { devices, meant: numbers.map((last) => devicesEndingWith(String(last).padStart(digits, '0'))) }
}

function readings(devices: number): readonly Request[] {
  return Array.from({ length: devices }, (_, number) => updateReading(number, fresh))
}

/** What has come when all have, or when no more do. */
async function receivedBy({ arrived }: Notified, expected: number): Promise<DelaysReply> {
  let received = -1
  let since = Date.now()
  for (;;) {
    const got = await arrived(false)
    if (got.received >= expected || Date.now() - since > patience_ms) return got
    if (got.received > received) since = Date.now()
    received = got.received
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Subscriptions that no update matches: to other ids, and to patterns of the same type. */
const others: Readonly<Record<string, (number: number) => Meant>> = {
  'other ids': (number) => ({ id: `elsewhere-${number}`, isPattern: false }),
  'patterns of the type': (number) => ({ id: `^elsewhere-${number}$`, isPattern: true }),
}

/** The same load in turns on a broker with 10,000 subscriptions that do not match, and on one without any. */
async function compareCost(harness: Harness, receiver: Receiver): Promise<void> {
  const { devices, rounds, duration_s } = harness.options
  if (!harness.hasOwnBrokers('what subscriptions that do not match cost')) return
  const subscriptions = Math.max(...harness.options.subscriptions)
  const { url: inbox } = await receiver.ask({ reset: true })
  for (const [kind, meant] of Object.entries(others)) {
    await harness.withDevices([], (without) =>
      harness.withDevices([], async (url) => {
        harness.report.progress(`notify, ${subscriptions} subscriptions to ${kind}`)
        await subscribe(
          url,
          inbox,
          Array.from({ length: subscriptions }, (_, number) => meant(number)),
        )
        const load = { connections, requests: readings(devices), checked: true, ...times(duration_s / rounds) }
        const { measured, reference } = await inTurns(
          rounds,
          harness.rounds(`notify, ${kind}`, { ...load, url }),
          harness.rounds('notify, without', { ...load, url: without }),
        )
        harness.report.add({
          bench: 'notify cost',
          case: `subscriptions to ${kind}`,
          subscriptions,
          updates_per_s: wholeRate(medianRate(measured)),
          ...besides('without_per_s', measured, reference),
        })
      }),
    )
  }
}
