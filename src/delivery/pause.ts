/** The bounds of the pauses between attempts [subscriptions 5.4]. */
export interface PauseLimits {
  readonly min_ms: number
  readonly max_ms: number
}

/** How far a pause is varied at random, either way. */
const spread = 0.2

/**
 * The pause after the n-th failure in a row: doubling from the shortest to the longest, varied at random so that many
 * subscriptions do not come back at once; a receiver may ask for a longer one, up to the longest [subscriptions 5.4].
 * `chance` is in [0, 1).
 */
export function pauseAfter(failures: number, limits: PauseLimits, retryAfter_ms: number, chance: number): number {
  const doubled = Math.min(limits.max_ms, limits.min_ms * 2 ** (failures - 1))
  const varied = doubled * (1 - spread + 2 * spread * chance)
  return Math.max(varied, Math.min(retryAfter_ms, limits.max_ms))
}
