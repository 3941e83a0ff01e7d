import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'tap'
import type { Resource } from '../../src/broker/operations/api.js'
import { ok } from '../../src/result.js'
import { givenFrontEnd } from './given.js'

/** Waits for two things at once, each with the permit given back, and within one of them for a third. */
const twice: Resource = {
  pattern: '/v1/twice',
  anyCase: true,
  operations: {
    GET: {
      use: 'read',
      prepare: ({ client }) =>
        ok(async () => {
          const inner = () => client.aside(() => sleep(1, 'inner'))
          const waits = [
            client.aside(() => sleep(2, 'slow')),
            client.aside(() => sleep(1, 'fast')),
            client.aside(inner),
          ]
          return { status: 200, body: JSON.stringify(await Promise.all(waits)) }
        }),
    },
  },
}

test('a request that waits for several things at once takes one permit again', async (t) => {
  const { talk, meter } = await givenFrontEnd(t, { requestPermits: 1 }, [twice])
  const request = 'GET /v1/twice HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'
  for (let times = 0; times < 3; times += 1) t.match(await talk(request), /\["slow","fast","inner"\]/)
  t.equal(meter.taken, 0)
})
