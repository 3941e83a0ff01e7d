/** What the machine for which limits are written takes for the reference work when nothing else runs. */
const reference_ms = 20

/**
 * A limit in milliseconds as it is on this machine now: more than it is written where the processor is slower or shared. It tells
 * work that takes linear time from work that does not; what is fast is measured by the benchmarks.
 */
export function limitNow_ms(limit_ms: number): number {
  const text = JSON.stringify(Array.from({ length: 74_000 }, (_, at) => ({ id: at.toString(36) })))
  return limit_ms * Math.max(1, leastTime_ms(() => JSON.parse(text)) / reference_ms)
}

/** The least time that synchronous work takes in five runs. */
export function leastTime_ms(work: () => unknown): number {
  const took = Array.from({ length: 5 }, () => {
    const began = performance.now()
    work()
    return performance.now() - began
  })
  return Math.min(...took)
}
