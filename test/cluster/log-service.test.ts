import { test } from 'tap'
import { LogService } from '../../src/cluster/log-service.js'
import { ok } from '../../src/result.js'
import type { LogSequence } from '../../src/wal/record-log.js'

/** What keeps this process alive and is a timer. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}

test('a claim that was carried out leaves no timer behind that keeps the process alive', async (t) => {
  const none = 0 as LogSequence
  const service = new LogService({
    engine: {
      extent: async () => ok({ first: none, last: none }),
      read: async () => ok([]),
      watchHeads: () => ({ stop: () => {} }),
      truncate: async () => ok(undefined),
      compact: async () => ok(undefined),
      close: () => {},
    },
    appender: { append: async () => ok(1 as LogSequence), close: () => {} },
    node: 'a',
    heldMost_bytes: 0,
    givenUp: () => {},
    fenced: () => {},
    neglected: () => {},
  })
  const before = timers()
  t.same(await service.claim([0, 1]), ok(undefined))
  service.close()
  t.equal(timers(), before)
})
