import { updateDevice } from './device.js'
import type { Bench, Harness } from './harness.js'
import { missingPackages } from './installed.js'
import type { Generator } from './load-generator.js'
import { fresh } from './request.js'
import { inTurns, medians, times } from './rounds.js'

/** Both send to the bare reference: a server that does nothing shows what the generator itself can do. */
export const generator: Bench = {
  name: 'generator',
  question: 'whether the generator of load is what limits: ours and autocannon against the bare reference',
  run: async (harness) => {
    if (missingPackages('autocannon').length > 0) {
      harness.report.note('Left out, since autocannon is not installed (the sources have it): generator.')
      return
    }
    for (const connections of harness.options.connections) await measure(harness, connections)
  },
}

async function measure(harness: Harness, connections: number): Promise<void> {
  const { duration_s, rounds, devices } = harness.options
  const url = await harness.reference()
  const requests = Array.from({ length: devices }, (_, number) => updateDevice(number, fresh))
  const task = { url, connections, requests, checked: false, ...times(duration_s / rounds) }
  const loading = (name: Generator) => (round: number) =>
    harness.load(`generator, ${name}, ${connections} connections, round ${round}`, task, name)
  const { measured, reference } = await inTurns(rounds, loading('rigel'), loading('autocannon'))
  harness.report.add({ bench: 'generator', case: 'rigel', connections, rounds, ...medians(measured) })
  harness.report.add({ bench: 'generator', case: 'autocannon', connections, rounds, ...medians(reference) })
}
