import { updateDevice } from './device.js'
import type { Bench, Harness } from './harness.js'
import { fresh } from './request.js'
import { rounded, wholeRate } from './rounds.js'

/** Loads, as multiples of what the broker can do. */
const loads: readonly number[] = [0.5, 1, 2, 4]

/** Connections whose requests are all admitted, for what the broker can do; and those that arrivals come on. */
const closed = 256
const open = 900

/** How long after the end of overload the broker should do as much as before. */
const recovery_s = 1

/** Whether more than the broker can do is refused, so that what is accepted is answered as fast as ever. */
export const overload: Bench = {
  name: 'overload',
  question: 'updates that arrive at 0.5, 1, 2 and 4 times what the broker can do: accepted, refused, waits, recovery',
  run: async (harness) => {
    const numbers = Array.from({ length: harness.options.devices }, (_, number) => number)
    const requests = numbers.map((number) => updateDevice(number, fresh))
    await harness.withDevices([], async (url) => {
      const capacity = await closedLoop(harness, url, requests, Math.min(3, harness.options.duration_s))
      for (const times of loads) {
        await arrive(harness, url, requests, capacity, times)
        // The warm-up of this load is the time that the broker has to recover.
        const after = await closedLoop(harness, url, requests, recovery_s)
        harness.report.add({
          bench: 'overload',
          case: `after ${times} times`,
          capacity_per_s: wholeRate(capacity),
          recovered_per_s: wholeRate(after),
          ratio: rounded(after / capacity),
        })
      }
    })
  },
}

async function closedLoop(
  harness: Harness,
  url: string,
  requests: ReturnType<typeof updateDevice>[],
  warmUp_s: number,
): Promise<number> {
  const { duration_s, rounds } = harness.options
  const task = { url, connections: closed, requests, checked: false, warmUp_s, duration_s: duration_s / rounds }
  const { rate_per_s } = await harness.load('overload, what the broker can do', task)
  return rate_per_s
}

async function arrive(
  harness: Harness,
  url: string,
  requests: ReturnType<typeof updateDevice>[],
  capacity: number,
  times: number,
): Promise<void> {
  const { duration_s } = harness.options
  const rate_per_s = Math.max(1, capacity * times)
  const task = { url, connections: open, requests, rate_per_s, warmUp_s: Math.min(1, duration_s / 2), duration_s }
  const result = await harness.arrivals(`overload, ${times} times what the broker can do`, task)
  const { accepted, refused, unsent, failed, measured_s } = result
  const reached_per_s = (accepted + refused + failed) / measured_s
  harness.report.add({
    bench: 'overload',
    case: `${times} times`,
    offered_per_s: wholeRate(rate_per_s),
    reached_times: rounded(reached_per_s / capacity),
    accepted_per_s: wholeRate(accepted / measured_s),
    refused_per_s: wholeRate(refused / measured_s),
    p50_ms: rounded(result.accepted_p50_ms),
    p99_ms: rounded(result.accepted_p99_ms),
    refused_p99_ms: rounded(result.refused_p99_ms),
    unsent_per_s: wholeRate(unsent / measured_s),
    generator_cpu_ratio: rounded(result.generator_cpu_ratio),
    ...(failed === 0 ? {} : { failures: failed }),
  })
}
