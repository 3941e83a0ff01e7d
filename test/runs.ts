/** Whether all runs of a property are made, as in the system tests and with `RIGEL_RUNS=all`; else a tenth of them. */
export const areAll = process.env['RIGEL_RUNS'] === 'all'

/** Fewer runs than these would find nothing. */
const fewest = 5

/** How often a property is tried, of the number of runs that its long form has. A failure prints the seed that repeats it. */
export function runs(whole: number): number {
  return areAll ? whole : Math.max(Math.min(fewest, whole), Math.ceil(whole / 10))
}

/**
 * More often than this something has to be met, of how often all runs meet it: chance varies, and what is to be noticed is a generator that
 * does not make it any more. Few runs may meet nothing at all.
 */
export function meetings(whole: number): number {
  return areAll ? Math.floor(whole / 4) : -1
}
