import { type Test, test } from 'tap'
import { type Dimension, dimensions } from './dimensions.js'
import { GrownBroker, type Measured } from './grown-broker.js'

/** All dimensions, from a sixteenth of their limits on, with a table; RIGEL_GROWTH_ONLY picks some by name. */
const isLong = process.env['RIGEL_GROWTH'] === 'long'
const only = new RegExp(process.env['RIGEL_GROWTH_ONLY'] ?? '')
const meant = dimensions.filter(({ isOfShortForm = false, name }) => (isLong || isOfShortForm) && only.test(name))

/** What comes every time is the broker's: other programs and the collection of garbage come as they like. */
const tries = 5

/** Twice the size may take so many times as long, where it takes long at all. */
const mostGrowth = 2.5
const worthMeasuring_ms = 200

/** The short form runs beside other tests: it finds what is not done in slices at all. */
const mostWait_ms = isLong ? 50 : 500

/** What the machine for which limits are written takes for a request that asks for nothing. */
const quietBare_ms = 0.5

interface Grown {
  readonly half: Measured
  readonly whole: Measured
  readonly limit_ms: number
}

async function measured(
  t: Test,
  broker: GrownBroker,
  { name, before, sent, expects }: Dimension,
  size: number,
): Promise<Measured> {
  const found = await broker.measure(before?.(size) ?? [], sent(size))
  if (!expects.test(found.text)) t.fail(`${name}, ${size}: ${found.status} ${found.text.slice(0, 200)}`)
  return found
}

function least(one: Measured | undefined, other: Measured): Measured {
  if (one === undefined) return other
  const [work_ms, wait_ms] = [Math.min(one.work_ms, other.work_ms), Math.min(one.wait_ms, other.wait_ms)]
  return { ...other, work_ms, wait_ms }
}

/** At the end of a dimension: half of it and the whole, until it is as it should be, or it was not each time. */
async function grownTo(t: Test, broker: GrownBroker, dimension: Dimension): Promise<Grown> {
  let [half, whole]: [Measured | undefined, Measured | undefined] = [undefined, undefined]
  for (let tried = 1; ; tried += 1) {
    const limit_ms = mostWait_ms * Math.max(1, (await broker.bare()) / quietBare_ms)
    half = least(half, await measured(t, broker, dimension, dimension.most / 2))
    whole = least(whole, await measured(t, broker, dimension, dimension.most))
    const grown = { half, whole, limit_ms }
    if (tried === tries || (isLinear(grown) && whole.wait_ms <= limit_ms)) return grown
  }
}

function isLinear({ half, whole }: Pick<Grown, 'half' | 'whole'>): boolean {
  return (
    whole.work_ms < worthMeasuring_ms ||
    whole.work_ms <= mostGrowth * Math.max(half.work_ms, worthMeasuring_ms / mostGrowth)
  )
}

test('what takes long grows no faster than its size, and nobody else waits for it', async (t) => {
  t.setTimeout(isLong ? 3_600_000 : 300_000)
  const broker = await GrownBroker.start(t)
  for (const dimension of meant) {
    const { name, most } = dimension
    if (isLong) {
      for (const size of [most / 16, most / 8, most / 4]) {
        const { work_ms, wait_ms } = await measured(t, broker, dimension, Math.floor(size))
        t.comment(row(name, Math.floor(size), work_ms, wait_ms))
      }
    }
    const { half, whole, limit_ms } = await grownTo(t, broker, dimension)
    t.comment(row(name, most / 2, half.work_ms, half.wait_ms))
    t.comment(row(name, most, whole.work_ms, whole.wait_ms))
    t.ok(isLinear({ half, whole }), `${name}: ${half.work_ms} ms for half of it, ${whole.work_ms} ms for the whole`)
    t.ok(whole.wait_ms <= limit_ms, `${name}: others wait ${whole.wait_ms} ms, of ${limit_ms} ms`)
  }
})

function row(name: string, size: number, work_ms: number, wait_ms: number): string {
  return `${size.toString().padStart(8)} ${work_ms.toFixed(0).padStart(6)} ms work ${wait_ms.toFixed(0).padStart(6)} ms wait: ${name}`
}
