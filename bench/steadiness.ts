import { rounded } from './rounds.js'

/**
 * How many per cent a figure has grown from the second third of its samples to the last, each as its mean: the first third is for
 * warming up.
 */
export function growth_percent<Sample>(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const before = mean(samples.slice(-2 * third, -third).map(of))
  const now = mean(samples.slice(-third).map(of))
  return before === 0 ? 0 : rounded(((now - before) / before) * 100)
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}
