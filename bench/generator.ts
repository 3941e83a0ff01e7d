import { updateDevice } from './device.js'
import { type Bench, medians, times } from './harness.js'
import type { LoadResult } from './load.js'
import type { Generator } from './load-generator.js'
import { fresh } from './request.js'

const generators: readonly Generator[] = ['rigel', 'autocannon']

/** Both send to the bare reference: a server that does nothing shows what the generator itself can do. */
export const generator: Bench = {
  name: 'generator',
  question: 'whether the generator of load is what limits: ours and autocannon against the bare reference',
  run: async (harness) => {
    const { duration_s, rounds, devices } = harness.options
    const url = await harness.reference()
    const requests = Array.from({ length: devices }, (_, number) => updateDevice(number, fresh))
    for (const connections of harness.options.connections) {
      const task = { url, connections, requests, checked: false, ...times(duration_s / rounds) }
      const results = new Map<Generator, LoadResult[]>(generators.map((name) => [name, []]))
      for (let round = 1; round <= rounds; round++) {
        for (const [name, measured] of results) {
          const title = `generator, ${name}, ${connections} connections, round ${round}`
          measured.push(await harness.load(title, task, name))
        }
      }
      for (const [name, measured] of results) {
        harness.report.add({ bench: 'generator', case: name, connections, rounds, ...medians(measured) })
      }
    }
  },
}
