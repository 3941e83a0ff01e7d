import { readDevice, updateDevice } from './device.js'
import type { Bench, Harness } from './harness.js'
import { Helper } from './helper.js'
import type { Request } from './request.js'
import { median, rounded, times } from './rounds.js'
import type { RoutedReply, RoutedTask, Way } from './routed.js'

const ways: readonly Way[] = ['bare Hono', 'through Hono', 'remembered']

/** Processor time is compared, not rates: the generator and other programs have no part in it. */
export const routing: Bench = {
  name: 'routing',
  question: 'what the HTTP layer spends on a request: bare Hono, our routes in Hono, and the fast path for known paths',
  run: async (harness) => {
    const server = new Helper<RoutedTask, RoutedReply>('./routed.js')
    try {
      await measure(harness, server, 'GET /v1/contextEntities/{id}', (number) => readDevice(number))
      await measure(harness, server, 'POST /v1/updateContext', (number) => updateDevice(number, number))
    } finally {
      await server.end()
    }
  },
}

async function measure(
  harness: Harness,
  server: Helper<RoutedTask, RoutedReply>,
  name: string,
  requestOf: (number: number) => Request,
): Promise<void> {
  const { rounds, duration_s, devices } = harness.options
  const requests = Array.from({ length: devices }, (_, number) => requestOf(number))
  const spent = new Map<Way, number[]>(ways.map((way) => [way, []]))
  for (let round = 1; round <= rounds; round += 1) {
    for (const way of ways) {
      const before = await server.ask({ way })
      const task = { url: before.url, connections: 16, requests, checked: false, ...times(duration_s / rounds) }
      const { sent } = await harness.load(`routing, ${name}, ${way}, round ${round}`, task)
      const after = await server.ask({ way })
      spent.get(way)?.push((after.processor_us - before.processor_us) / sent)
    }
  }
  const bare_us = median(spent.get('bare Hono') ?? [])
  for (const [way, all] of spent) {
    const processor_us = median(all)
    const ratio = rounded(processor_us / bare_us)
    harness.report.add({
      bench: 'routing',
      case: `${name}, ${way}`,
      rounds,
      processor_us: rounded(processor_us),
      ratio,
    })
  }
}
