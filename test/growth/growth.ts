import { type Test, test } from 'tap'
import { limitNow_ms, processorTime_ms } from '../pace.js'
import type { Dimension } from './dimension.js'
import { GrownBroker, type Measured } from './grown-broker.js'
import { shortForm } from './short-form.js'

/** All dimensions, from a sixteenth of their limits on, held to what is promised for a quiet machine. */
export const isLong = process.env['RIGEL_GROWTH'] === 'long'
/** Picks dimensions by their names, of all that there are. */
const only = process.env['RIGEL_GROWTH_ONLY']
/** As 3/30: the third of thirty parts of them. The whole takes longer than one file of tests may. */
const [part = 1, parts = 1] = (process.env['RIGEL_GROWTH_PART'] ?? '1/1').split('/').map(Number)

/** What the work of twice the size may take, and how long others may wait. */
export interface Promised {
  readonly mostGrowth: number
  readonly mostWait_ms: number
  /** What comes every time is the broker's: other programs and the collection of garbage come as they like. */
  readonly tries: number
}

const usualTries = 5

/** What is promised for a quiet machine. */
export const onQuietMachine: Promised = { mostGrowth: 2.5, mostWait_ms: 50, tries: usualTries }

/** The short form runs beside other tests: caches are shared, and it finds what is not done in slices at all. */
const besideOthers: Promised = { mostGrowth: 3, mostWait_ms: 220, tries: usualTries }

/** Growth is looked at where the whole takes this long. */
const worthMeasuring_ms = 200

/** What the machine for which limits are written takes for a request that asks for nothing. */
const quietBare_ms = 0.5

interface Grown {
  /** Undefined where the whole takes too little for a comparison. */
  readonly half: Measured | undefined
  readonly whole: Measured
  readonly limit_ms: number
  /** The least work that the whole has taken, and what it may take. */
  readonly least_ms: number
  readonly mostWork_ms: number
}

async function measured(
  t: Test,
  broker: GrownBroker,
  { name, before, sent, expects }: Dimension,
  size: number,
): Promise<Measured> {
  for (let tried = 1; ; tried += 1) {
    const found = await broker.measure(before?.(size) ?? [], sent(size))
    const reply = `${found.status} ${found.text}`
    const isExpected = expects.test(reply)
    // The short form runs beside other tests, where a limit of the broker's may pass by the clock: not each time.
    if (!isExpected && !isLong && tried < usualTries) {
      t.comment(`${name}, ${size}: again, after ${reply.slice(0, 200)}`)
      continue
    }
    if (!isExpected) t.fail(`${name}, ${size}: ${reply.slice(0, 200)}`)
    return found
  }
}

/** At the end of a dimension: half of it and the whole, until it is as it should be, or it was not each time. */
async function grownTo(
  t: Test,
  broker: GrownBroker,
  dimension: Dimension,
  { mostGrowth, mostWait_ms, tries }: Promised,
): Promise<Grown> {
  const growth = (of: Pick<Grown, 'half' | 'whole'>) => growthOf(of, mostGrowth)
  let best: Pick<Grown, 'half' | 'whole'> | undefined
  let [wait_ms, least_ms] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let tried = 1; ; tried += 1) {
    const whole = await measured(t, broker, dimension, dimension.most)
    const isWorth = whole.work_ms >= worthMeasuring_ms
    const half = isWorth ? await measured(t, broker, dimension, Math.floor(dimension.most / 2)) : undefined
    // Both of one moment: a processor that others share is not always as fast.
    if (best === undefined || growth({ half, whole }) < growth(best)) best = { half, whole }
    wait_ms = Math.min(wait_ms, whole.wait_ms)
    const limit_ms = mostWait_ms * (wait_ms <= mostWait_ms ? 1 : await slowness(broker))
    least_ms = Math.min(least_ms, whole.work_ms)
    const mostWork_ms = limitNow_ms(dimension.work_ms ?? Number.POSITIVE_INFINITY, processorTime_ms)
    const grown = { half: best.half, whole: { ...best.whole, wait_ms }, limit_ms, least_ms, mostWork_ms }
    if (tried === tries || (growth(grown) <= 1 && wait_ms <= limit_ms && least_ms <= mostWork_ms)) return grown
  }
}

/** How many times as long the whole takes as half of it, of what is let pass; 0 where that is too little for a comparison. */
function growthOf({ half, whole }: Pick<Grown, 'half' | 'whole'>, mostGrowth: number): number {
  if (half === undefined) return 0
  return whole.work_ms / Math.max(mostGrowth * half.work_ms, worthMeasuring_ms)
}

/**
 * How many times as long work takes now as on the machine for which limits are written: in the long form by the clock, in the short form
 * of a processor, so that what a request takes beside other tests says nothing.
 */
async function slowness(broker: GrownBroker): Promise<number> {
  return isLong ? Math.max((await broker.bare()) / quietBare_ms, limitNow_ms(1)) : limitNow_ms(1, processorTime_ms)
}

/** Those of some dimensions that are meant: in the short form a few of them, unless some are picked. */
function meantOf(dimensions: readonly Dimension[]): readonly Dimension[] {
  const named = only === undefined ? dimensions : dimensions.filter(({ name }) => new RegExp(only).test(name))
  const picked = named.filter((_, at) => at % parts === part - 1)
  return isLong || picked.length < dimensions.length ? picked : shortForm(dimensions)
}

/** Grows each of some dimensions. A file has a part of them all: in one process they would take too long beside other tests. */
export function testGrowth(dimensions: readonly Dimension[]): void {
  test('what takes long grows no faster than its size, and nobody else waits for it', async (t) => {
    t.setTimeout(isLong ? 3_600_000 : 600_000)
    const broker = await GrownBroker.start(t, isLong)
    for (const dimension of meantOf(dimensions)) await checkGrowth(t, broker, dimension)
  })
}

async function checkGrowth(t: Test, broker: GrownBroker, dimension: Dimension): Promise<void> {
  const { name, most } = dimension
  if (isLong) {
    for (const size of [most / 16, most / 8, most / 4].map(Math.ceil)) {
      row(t, name, size, await measured(t, broker, dimension, size))
    }
  }
  for (const { what, holds } of await promisesOf(t, broker, dimension, isLong ? onQuietMachine : besideOthers))
    t.ok(holds, `${name}: ${what}`)
}

/** What is promised of a dimension, with its figures, and whether it holds. */
export async function promisesOf(
  t: Test,
  broker: GrownBroker,
  dimension: Dimension,
  promised: Promised,
): Promise<readonly { readonly what: string; readonly holds: boolean }[]> {
  const { name, most } = dimension
  const { half, whole, limit_ms, least_ms, mostWork_ms } = await grownTo(t, broker, dimension, promised)
  if (half !== undefined) row(t, name, Math.floor(most / 2), half)
  row(t, name, most, whole)
  return [
    {
      what: `${half?.work_ms} ms for half of it, ${whole.work_ms} ms for the whole`,
      holds: growthOf({ half, whole }, promised.mostGrowth) <= 1,
    },
    { what: `${least_ms} ms for the whole, of ${mostWork_ms} ms`, holds: least_ms <= mostWork_ms },
    { what: `others wait ${whole.wait_ms} ms, of ${limit_ms} ms`, holds: whole.wait_ms <= limit_ms },
  ]
}

function row(t: Test, name: string, size: number, { work_ms, wait_ms }: Measured): void {
  const figures = `${work_ms.toFixed(0).padStart(6)} ms work ${wait_ms.toFixed(0).padStart(6)} ms wait`
  t.comment(`${size.toString().padStart(8)} ${figures}: ${name}`)
}
