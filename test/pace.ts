/** What the machine for which limits are written takes for the reference work when nothing else runs. */
const reference_ms = 20

/** How often work may be begun until it stays within its limit once: what shares the processors may slow down a part of it. */
const tries = 3

/**
 * Whether work stays within a limit, as that is on this machine now, in one of some tries. It tells work that takes linear time from work
 * that does not; what is fast is measured by the benchmarks.
 *
 * @param clock_ms how long the work has taken until now: the processor time of this process, which does not go on while others have the
 * processors
 */
export async function staysWithin(
  limit_ms: number,
  work: () => unknown,
  clock_ms: () => number = processorTime_ms,
): Promise<boolean> {
  for (let tried = 0; tried < tries; tried += 1) {
    const began_ms = clock_ms()
    await work()
    const took_ms = clock_ms() - began_ms
    if (took_ms < limit_ms || took_ms < limitNow_ms(limit_ms)) return true
  }
  return false
}

export function processorTime_ms(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/**
 * A limit in milliseconds as it is on this machine now: more than it is written where the processor is slower, and by a clock that goes on
 * while others have the processor, also where it is shared.
 */
export function limitNow_ms(limit_ms: number, clock_ms: () => number = () => performance.now()): number {
  const text = JSON.stringify(Array.from({ length: 74_000 }, (_, at) => ({ id: at.toString(36) })))
  return limit_ms * Math.max(1, leastTime_ms(() => JSON.parse(text), clock_ms) / reference_ms)
}

/** The least time that synchronous work takes in five runs. */
function leastTime_ms(work: () => unknown, clock_ms: () => number): number {
  const took = Array.from({ length: 5 }, () => {
    const began_ms = clock_ms()
    work()
    return clock_ms() - began_ms
  })
  return Math.min(...took)
}
