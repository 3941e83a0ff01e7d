import { readDevice } from './device.js'
import { deviceResponse } from './fleet.js'
import type { Bench } from './harness.js'

/** The reference answers the same bytes without looking anything up. */
export const read: Bench = {
  name: 'read',
  question: 'GET of one entity by id, by number of connections, against a constant answer of the same bytes',
  run: (harness) =>
    harness.withVersions(async (url, against) => {
      const requests = Array.from({ length: harness.options.devices }, (_, number) => readDevice(number))
      const constant = await deviceResponse(url, 0)
      for (const connections of harness.options.connections) {
        await harness.compare({
          bench: 'read',
          case: 'GET /v1/contextEntities/{id}',
          url,
          against,
          connections,
          requests,
          constant,
        })
      }
    }),
}
