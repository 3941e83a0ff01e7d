import { brokerOptions, option, parseAmount, parseCount } from './options.js'
import { rounded } from './rounds.js'

/** The options of a program that runs for a long time and says whether figures stayed as they were. */
export function steadinessOptions(usual: {
  readonly minutes: string
  readonly interval: string
  readonly devices: string
}) {
  return {
    duration_ms: option('minutes N', 'how long', (name, text) => parseAmount(name, text) * 60_000, usual.minutes),
    interval_ms: option(
      'interval S',
      'seconds between two lines',
      (name, text) => parseAmount(name, text) * 1000,
      usual.interval,
    ),
    devices: option('devices N', 'entities that are updated', parseCount, usual.devices),
    tolerance_percent: option(
      'tolerance P',
      'how many per cent a figure may become worse from one third of the time to the next',
      parseAmount,
      '10',
    ),
    ...brokerOptions,
  } as const
}

/** Takes a sample at the end of each interval, until the time is over, and says it. */
export async function sampled<Sample extends object>(
  { duration_ms, interval_ms }: { readonly duration_ms: number; readonly interval_ms: number },
  take: () => Promise<Sample> | Sample,
): Promise<readonly Sample[]> {
  const samples: Sample[] = []
  const began_ms = performance.now()
  while (performance.now() - began_ms < duration_ms) {
    await new Promise((resolve) => setTimeout(resolve, interval_ms))
    const sample = await take()
    samples.push(sample)
    const at_s = Math.round((performance.now() - began_ms) / 1000)
    console.log(JSON.stringify({ soak: 'interval', at_s, ...sample }))
  }
  return samples
}

/**
 * How many per cent figures have grown from the second third of their samples to the last, each as its mean: the first third is
 * for warming up.
 */
export function growths<Sample, Name extends string>(
  samples: readonly Sample[],
  figures: Readonly<Record<Name, (sample: Sample) => number>>,
): Readonly<Record<`${Name}_change_percent`, number>> {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const growth_percent = (of: (sample: Sample) => number): number => {
    const before = mean(samples.slice(-2 * third, -third).map(of))
    const now = mean(samples.slice(-third).map(of))
    return before === 0 ? 0 : rounded(((now - before) / before) * 100)
  }
  return Object.fromEntries(
    Object.entries<(sample: Sample) => number>(figures).map(([name, of]) => [
      `${name}_change_percent`,
      growth_percent(of),
    ]),
  ) as Record<`${Name}_change_percent`, number>
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}
