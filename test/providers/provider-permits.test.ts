import fc from 'fast-check'
import { test } from 'tap'
import { type ClientPermits, ProviderPermits, standingAfter } from '../../src/broker/providers/provider-permits.js'
import { timedOut } from '../../src/delivery/http-client/response-handler.js'
import { meetings, runs } from '../runs.js'

const limits = { total: 16, perOrigin: 4, perClient: 6 }
const limit_ms = 5000

interface Running {
  readonly origin: string
  readonly client: ClientPermits
  readonly endsAt_ms: number
  readonly end: () => void
}

/** Requests to providers on a clock that is played: each takes a known time, or until its limit. */
class Played {
  now_ms = 0
  readonly permits = new ProviderPermits(limits, () => this.now_ms)
  readonly running = new Set<Running>()
  readonly open = new Set<Promise<void>>()

  /** Begins a request; gives how long it waited, when it has ended. */
  ask(client: ClientPermits, origin: string, takes_ms: number): Promise<number> {
    const [asked_ms, ending] = [this.now_ms, new AbortController()]
    const waited = this.permits.with(client, origin, ending.signal, async () => {
      const waited_ms = this.now_ms - asked_ms
      await new Promise<void>((resolve) => {
        const end = (): void => {
          if (takes_ms >= limit_ms) ending.abort(timedOut)
          resolve()
        }
        const each = { origin, client, endsAt_ms: this.now_ms + Math.min(takes_ms, limit_ms), end }
        this.running.add(each)
      })
      return waited_ms
    })
    const open = waited.then(() => void this.open.delete(open))
    this.open.add(open)
    return waited
  }

  /** Plays until nothing is under way at that time or before it. */
  async until(end_ms: number): Promise<void> {
    await allSettled()
    const next = [...this.running].sort((one, other) => one.endsAt_ms - other.endsAt_ms)[0]
    if (next === undefined || next.endsAt_ms > end_ms) {
      this.now_ms = Math.max(this.now_ms, end_ms)
      return
    }
    this.now_ms = next.endsAt_ms
    this.running.delete(next)
    next.end()
    await this.until(end_ms)
  }

  /** The most that run at a time of one origin, of one client, and in all. */
  get most() {
    const counts = new Map<unknown, number>()
    for (const { origin, client } of this.running) {
      for (const of of [origin, client]) counts.set(of, (counts.get(of) ?? 0) + 1)
    }
    const origins = [...this.running].map(({ origin }) => counts.get(origin) ?? 0)
    const clients = [...this.running].map(({ client }) => counts.get(client) ?? 0)
    return { origin: Math.max(0, ...origins), client: Math.max(0, ...clients), all: this.running.size }
  }
}

/** Everything that follows from what has happened has followed. */
function allSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Requests of clients that forward many, each to providers that do not respond. */
const floods = fc.array(
  fc.record({ at_ms: fc.nat(20_000), origins: fc.array(fc.nat(60), { minLength: 1, maxLength: 40 }) }),
  { minLength: 1, maxLength: 12 },
)

async function longestWait_ms(
  given: readonly { readonly at_ms: number; readonly origins: readonly number[] }[],
  respondFirst: boolean,
): Promise<{ readonly longest_ms: number; readonly isFull: boolean }> {
  const played = new Played()
  await Promise.all([played.ask(played.permits.share(), 'live', 5), played.until(10)])
  if (respondFirst) {
    for (let origin = 0; origin <= 60; origin += 1) void played.ask(played.permits.share(), `dead ${origin}`, 5)
  }
  await played.until(1000)
  const left = [...given].sort((one, other) => one.at_ms - other.at_ms)
  const waits: Promise<number>[] = []
  let isFull = false
  for (let at_ms = 1000; at_ms < 40_000; at_ms += 250) {
    for (; left[0] !== undefined && left[0].at_ms + 1000 <= at_ms; left.shift()) {
      const client = played.permits.share()
      for (const origin of left[0].origins) void played.ask(client, `dead ${origin}`, limit_ms)
    }
    waits.push(played.ask(played.permits.share(), 'live', 5))
    await played.until(at_ms + 250)
    const { origin, client, all } = played.most
    if (origin > limits.perOrigin || client > limits.perClient || all > limits.total) throw new Error('too many run')
    isFull ||= all >= (limits.total * 3) / 4
  }
  await played.until(10_000_000)
  if (played.open.size > 0) throw new Error(`${played.open.size} requests never had their turn`)
  return { longest_ms: Math.max(...(await Promise.all(waits))), isFull }
}

test('whatever others ask of providers that never responded, one that responds at once is asked at once', async (t) => {
  let full = 0
  await fc.assert(
    fc.asyncProperty(floods, async (given) => {
      const { longest_ms, isFull } = await longestWait_ms(given, false)
      if (isFull) full += 1
      return longest_ms === 0
    }),
    { numRuns: runs(100) },
  )
  t.ok(full > meetings(100), 'others had all they could get')
})

test('whatever others ask of providers that responded until then, a request waits for two time limits at most', async (t) => {
  let full = 0
  await fc.assert(
    fc.asyncProperty(floods, async (given) => {
      const { longest_ms, isFull } = await longestWait_ms(given, true)
      if (isFull) full += 1
      return longest_ms <= 2 * limit_ms
    }),
    { numRuns: runs(100) },
  )
  t.ok(full > meetings(100), 'others had all they could get')
})

test('a client waits behind one request of each of the others, however many they have', async (t) => {
  const played = new Played()
  const order: string[] = []
  const ask = (name: string, client: ClientPermits) =>
    played.ask(client, 'live', 5).then((waited_ms) => order.push(`${name} ${waited_ms}`))
  const [many, few] = [played.permits.share(), played.permits.share()]
  const asked = [...Array.from({ length: 20 }, () => ask('many', many)), ask('few', few)]
  await played.until(1000)
  await Promise.all(asked)
  t.ok(order.indexOf('few 5') <= limits.perOrigin + 1, order.join(', '))
})

test('who waits for a permit until its signal comes has failed, and takes none', async (t) => {
  const permits = new ProviderPermits({ total: 2, perOrigin: 1, perClient: 2 })
  const begun: string[] = []
  const endings: (() => void)[] = []
  const take = (name: string, signal: AbortSignal) =>
    permits.with(permits.share(), 'http://slow', signal, async () => {
      begun.push(name)
      await new Promise<void>((resolve) => endings.push(resolve))
      return name
    })
  const patient = new AbortController().signal
  const impatient = new AbortController()
  const [first, second, third] = [take('1', patient), take('2', impatient.signal), take('3', patient)]
  await allSettled()
  impatient.abort('too late')
  await t.rejects(second, 'too late')
  t.same(begun, ['1'])
  endings.shift()?.()
  t.equal(await first, '1')
  await allSettled()
  t.same(begun, ['1', '3'])
  endings.shift()?.()
  t.equal(await third, '3')
})

test('those that give up leave the turns of the others as they are', async (t) => {
  const permits = new ProviderPermits({ total: 1, perOrigin: 1, perClient: 1 })
  const [begun, endings]: [number[], (() => void)[]] = [[], []]
  const signals = Array.from({ length: 100 }, () => new AbortController())
  const asked = signals.map(({ signal }, at) =>
    permits
      .with(permits.share(), 'http://slow', signal, async () => {
        begun.push(at)
        await new Promise<void>((resolve) => endings.push(resolve))
      })
      .catch(() => undefined),
  )
  for (const [at, controller] of signals.entries()) if (at % 10 !== 0) controller.abort('too late')
  const endEach = async (left: number): Promise<void> => {
    await allSettled()
    endings.shift()?.()
    if (left > 1) await endEach(left - 1)
  }
  await endEach(10)
  await Promise.all(asked)
  t.same(begun, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90])
})

test('a time limit counts for a minute, a fast end at once, and a client that goes at once not at all', async (t) => {
  const silent = { kind: 'silent', until_ms: 67_000 } as const
  t.same(standingAfter(undefined, 'timedOut', 5000, 7000), silent)
  t.same(standingAfter(silent, 'ended', 999, 9000), { kind: 'quick' })
  t.same(standingAfter({ kind: 'quick' }, 'ended', 1000, 9000), { kind: 'unproven' })
  t.same(standingAfter({ kind: 'quick' }, 'givenUp', 999, 9000), { kind: 'quick' })
  t.same(standingAfter({ kind: 'quick' }, 'givenUp', 1000, 9000), { kind: 'unproven' })
  t.same(standingAfter(silent, 'givenUp', 1000, 9000), silent)
  t.same(standingAfter(undefined, 'givenUp', 1, 9000), { kind: 'unproven' })
})
