import { test } from 'tap'
import { FigureHistory, historyKept_s } from '../../src/api/console/live-history.js'
import type { Resource } from '../../src/broker/operations/api.js'
import { consoleRoute, maxRoutes } from '../../src/observe/measure/counted-routes.js'
import { Measures } from '../../src/observe/measure/measures.js'
import { ok } from '../../src/result.js'
import { staysWithin } from '../pace.js'
import { until } from '../until.js'

const prepare = () => ok(async () => ({ status: 204 }))

function resourceOf(pattern: string): Resource {
  return {
    ...{ pattern, anyCase: false },
    operations: { GET: { use: 'read', prepare }, POST: { use: 'write', prepare } },
  }
}

/** Measures of which the given number of resources are counted, with what a front end of them counts. */
function measuresOf(
  threads: { readonly frontEnds: number; readonly partitions: number },
  resources: readonly Resource[],
) {
  const measures = Measures.make({ ...threads, queryThreads: threads.frontEnds })
  return {
    measures,
    meter: measures.requests(resources),
    history: new FigureHistory({ measures, resources: () => resources }),
  }
}

const some = { request_bytes: 1, response_bytes: 1, service: undefined, servicePath: undefined }

test('a history has the requests of clients by what they do, their errors, notifications and waits', async (t) => {
  const resources = [resourceOf('/v2/entities'), resourceOf('/v2/subscriptions')]
  const { measures, meter, history } = measuresOf({ frontEnds: 1, partitions: 2 }, resources)
  const [entities, subscriptions] = resources
  const answered = (resource: Resource | typeof consoleRoute | undefined, verb: string, duration: bigint) =>
    meter.responded({ ...some, resource, verb, duration, status: 404, errors: ['404', '404'] })
  answered(entities, 'POST', 3_000_000n)
  answered(entities, 'GET', 40_000_000n)
  answered(entities, 'GET', 60_000_000n)
  answered(subscriptions, 'POST', 1n)
  answered(undefined, 'GET', 1n)
  answered(consoleRoute, 'GET', 1n)
  const delivery = measures.delivery.meter()
  for (const how of ['accepted', 'simulated', 'dropped'] as const) delivery.left(how)
  const { samples } = await until(() => {
    const found = history.last(historyKept_s)
    return found.samples.length > 0 && found
  }, 'some time has passed')
  t.match(samples, [{ updates: [7, 1], reads: [10, 1, 1], errors: 10, notified: 2, lag_s: 0, waits: null }])
})

test('waits are part of it while they are measured', async (t) => {
  const { measures, history } = measuresOf({ frontEnds: 1, partitions: 2 }, [])
  measures.switchPart('semWait', true, process.hrtime.bigint())
  history.take()
  for (const partition of [0, 0, 1]) measures.wait('mailbox', partition).waited(3_000_000n)
  const samples = await until(() => {
    const found = history.last(historyKept_s).samples
    return (found.at(-1)?.waits?.mailbox.length ?? 0) > 0 && found
  }, 'there are waits')
  const none = { request: [], transaction: [], dbConnectionPool: [] }
  t.same(samples.at(-1)?.waits, { ...none, mailbox: [7, 3] })
})

test('a sample is cheap, also of a large broker', async (t) => {
  const resources = Array.from({ length: maxRoutes - 2 }, (_, at) => resourceOf(`/v2/entities/${at}`))
  const cases = [
    [1, 2],
    [8, 32],
    [8, 256],
  ] as const
  for (const [frontEnds, partitions] of cases) {
    const { measures, meter, history } = measuresOf({ frontEnds, partitions }, resources)
    measures.switchPart('semWait', true, process.hrtime.bigint())
    for (let partition = 0; partition < partitions; partition += 1) measures.wait('mailbox', partition).waited(1000n)
    const takeMany = (): void => {
      for (let samples = 0; samples < 200; samples += 1) {
        for (const resource of resources.slice(0, 5)) {
          for (const verb of ['GET', 'POST']) meter.responded({ ...some, resource, verb, status: 200, duration: 1n })
        }
        history.take()
      }
    }
    t.ok(await staysWithin(200 * 5, takeMany), `${frontEnds} front ends, ${partitions} partitions`)
  }
})
