import { test } from 'tap'
import {
  type LookedAt,
  looked,
  nothingSeen,
  type StandStill,
  type WatchdogState,
} from '../../src/runtime/watchdog-state.js'
import { Random } from '../replica/schedule.js'
import { runs } from '../runs.js'

const second = 1_000_000_000n
const limits = { interval: second, silence: 30n * second, beginning: 30n * second }

/** What a look finds of a thread that runs, is watched, and writes nothing. */
const running: LookedAt = {
  row: 1,
  thread: 100,
  isBeginning: false,
  beats: 1n,
  writingSince: 0n,
  isThere: true,
  waited: 0n,
}

/** Looks each second, or after what `gaps_s` says; gives the first one that found a thread standing still. */
function lookedEach(count: number, found: (look: number) => Partial<LookedAt>, gap_s = (_look: number): number => 1) {
  let state: WatchdogState = nothingSeen
  let at = 1_000n * second
  for (let look = 0; look < count; look += 1) {
    at += BigInt(Math.round(gap_s(look) * 1000)) * 1_000_000n
    const next = looked(state, at, [{ ...running, ...found(look) }], limits)
    state = next.state
    if (next.standStill !== undefined) return { look, ...next.standStill }
  }
  return undefined
}

test('a thread that shows no beat for the limit stands still', async (t) => {
  t.match(
    lookedEach(100, () => ({})),
    { look: 30, row: 1, why: 'silent', duration: limits.silence },
  )
  t.match(
    lookedEach(100, () => ({ waited: undefined })),
    { look: 30, why: 'silent' },
    'where the system says nothing',
  )
})

test('one beat below the limit is enough', async (t) => {
  t.equal(
    lookedEach(500, (look) => ({ beats: BigInt(Math.floor(look / 29)) })),
    undefined,
  )
})

test('a start that goes on is none that stands still, however long it takes', async (t) => {
  // What recovers a log shows a beat for each record, and is inside one transaction after the other.
  const recovering = (look: number) => ({ beats: BigInt(look * 1000), writingSince: BigInt(1 + look) })
  t.equal(lookedEach(3600, recovering), undefined)
  const stuckAt = (look: number) => recovering(Math.min(look, 90))
  t.match(lookedEach(3600, stuckAt), { look: 120, row: 1 }, 'until it stands still')
})

test('the same write transaction for the limit stands still, although the thread shows beats', async (t) => {
  const writing = (look: number) => ({ beats: BigInt(look), writingSince: 5n })
  t.match(lookedEach(100, writing), { look: 30, why: 'writing' })
  t.equal(
    lookedEach(500, (look) => ({ ...writing(look), writingSince: BigInt(look) })),
    undefined,
    'each is another one',
  )
})

test('a thread that is silent inside a write transaction says so, also when its last beat was before that', async (t) => {
  t.match(
    lookedEach(100, (look) => ({ writingSince: look < 1 ? 0n : 5n })),
    { look: 30, why: 'writing', duration: 29n * second },
  )
})

test('a thread that has ended is watched no more, unless it has ended inside a write transaction', async (t) => {
  t.equal(
    lookedEach(500, (look) => ({ isThere: look < 20 })),
    undefined,
  )
  const ended = (look: number) => ({
    isThere: look < 20,
    writingSince: look < 18 ? 0n : 7n,
    beats: BigInt(Math.min(look, 18)),
  })
  t.match(lookedEach(100, ended), { look: 48, why: 'endedWriting' })
})

test('a thread that loads its program may be silent for longer, and begins anew when it shows its first beat', async (t) => {
  const beginning = { isBeginning: true, thread: 0, waited: undefined }
  t.match(
    lookedEach(200, () => beginning),
    { look: 60, row: 1, why: 'silent', duration: 60n * second },
  )
  t.match(
    lookedEach(200, (look) => (look < 50 ? beginning : {})),
    { look: 80, duration: limits.silence },
    'what has begun stands still',
  )
})

test('a thread in the place of another one begins anew', async (t) => {
  t.equal(
    lookedEach(500, (look) => ({ thread: Math.floor(look / 29) })),
    undefined,
  )
})

test('time in which the process was stopped does not count', async (t) => {
  t.equal(
    lookedEach(
      25,
      () => ({}),
      (look) => (look % 5 === 0 ? 3600 : 1),
    ),
    undefined,
  )
  t.match(
    lookedEach(
      100,
      () => ({}),
      (look) => (look === 10 ? 3600 : 1),
    ),
    { look: 31 },
    'the rest does',
  )
})

test('time in which a thread waits for a processor does not count', async (t) => {
  t.equal(
    lookedEach(500, (look) => ({ waited: BigInt(look) * second })),
    undefined,
  )
  t.match(
    lookedEach(100, (look) => ({ waited: (BigInt(look) * second) / 2n })),
    { look: 60 },
    'what is left of it does',
  )
  t.equal(
    lookedEach(25, (look) => ({ waited: look % 2 === 0 ? 0n : undefined })),
    undefined,
  )
})

/** A thread as it is: runs or stands still, waits for a processor, is stopped with its process. */
function played(seed: number): { readonly found: StandStill | undefined; readonly stood_s: number } {
  const random = new Random(seed)
  const stands = random.chance(0.5)
  let state: WatchdogState = nothingSeen
  let [at, beats, waited, stood_s] = [0n, 0n, 0n, 0]
  for (let look = 0; look < 300; look += 1) {
    const isStopped = random.chance(0.05)
    const gap_ms = isStopped ? 2500 + random.below(100_000) : 900 + random.below(1000)
    at += BigInt(gap_ms) * 1_000_000n
    // A machine with much else to do lets it wait for most of the time.
    const ran_ms = isStopped ? 0 : Math.floor(gap_ms * (random.chance(0.3) ? 0.05 : 1))
    waited += BigInt(isStopped ? 0 : gap_ms - ran_ms) * 1_000_000n
    const isStanding = stands && look >= 50
    if (isStanding) stood_s += ran_ms / 1000
    // Its event loop turns in at least one of twenty looks, however busy it is.
    else if (look % 20 === 0 || random.chance(0.5)) beats += 1n
    const next = looked(state, at, [{ ...running, beats, waited }], limits)
    state = next.state
    if (next.standStill !== undefined) return { found: next.standStill, stood_s }
  }
  return { found: undefined, stood_s }
}

test('in any schedule a thread that stands still is found, and one that runs is not', async (t) => {
  let [found, spared] = [0, 0]
  for (let seed = 1; seed <= runs(3000); seed += 1) {
    const { found: standStill, stood_s } = played(seed)
    if (standStill === undefined) spared += 1
    else found += 1
    if (standStill !== undefined && stood_s === 0) t.fail(`seed ${seed}: a false alarm`)
    if (standStill === undefined && stood_s > 40) t.fail(`seed ${seed}: it has stood still for ${stood_s} s`)
  }
  t.ok(found > 0 && spared > 0)
})
