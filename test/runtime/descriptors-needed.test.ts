import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { descriptorShares } from '../../src/runtime/resources/descriptors-needed.js'

const flags = {
  httpThreads: 1,
  queryThreads: 1,
  maxConnections: 1020,
  cluster: undefined,
  notifications: { total: 256, mode: { kind: 'persistent' } },
} as const
const open = 24

test('what the flags allow is divided as it is where there are descriptors enough', async (t) => {
  const thereAre = { limit: 4096, open }
  const shares = { connections: 1020, attempts: 256, forwards: 256 }
  t.same(descriptorShares(flags, 1, thereAre), { ok: true, value: { ...shares, warning: undefined } })
  t.same(descriptorShares(flags, 1, undefined), descriptorShares(flags, 1, thereAre), 'nor where nobody knows')
})

test('with fewer half of the rest is for clients, and a quarter each for notifications and providers', async (t) => {
  const thereAre = { limit: 506, open }
  // 24 + 14 + 8 + 4 + 32 are for the broker itself.
  const shares = { connections: 200, attempts: 25, forwards: 50 }
  const warning =
    '200 connections at a time instead of 1020 (-maxConnections), 25 attempts to notify instead of 256 (-notifTotal), 50 requests of each HTTP thread to context providers instead of 256: the process may have 506 open files, raise the limit to 2662 (ulimit -n)'
  t.same(descriptorShares(flags, 1, thereAre), { ok: true, value: { ...shares, warning } })
})

test('what one part does not need the others have', async (t) => {
  const thereAre = { limit: 506, open }
  const few = { ...flags, maxConnections: 20 }
  t.match(descriptorShares(few, 1, thereAre), { value: { connections: 20, attempts: 70, forwards: 50 } })
  const silent = { ...flags, notifications: { total: 1, mode: flags.notifications.mode } }
  t.match(descriptorShares(silent, 1, thereAre), { value: { connections: 296, attempts: 1, forwards: 50 } })
  const pooled = {
    ...flags,
    notifications: { total: 256, mode: { kind: 'threadpool', total: 3, services: {} } },
  } as const
  t.match(descriptorShares(pooled, 1, thereAre), { value: { attempts: 3 } })
})

test('too few for one of each are refused, with how many it takes', async (t) => {
  const refused = descriptorShares(flags, 1, { limit: 64, open })
  t.same(refused, {
    ok: false,
    error: 'the process may have 64 open files, and needs 120 at least: raise the limit (ulimit -n)',
  })
  t.ok(descriptorShares(flags, 1, { limit: 120, open }).ok)
  t.notOk(descriptorShares(flags, 1, { limit: 119, open }).ok)
})

test('together the parts never open more than there are, and each may open something', async () => {
  const least = fc.integer({ min: 1, max: 8 })
  const most = fc.integer({ min: 1, max: 5000 })
  fc.assert(
    fc.property(
      least,
      least,
      most,
      most,
      fc.integer({ min: 16, max: 20_000 }),
      (threads, each, asked, total, limit) => {
        const notifications = { total, mode: { kind: 'persistent' } } as const
        const given = { ...flags, httpThreads: threads, queryThreads: each, maxConnections: asked, notifications }
        const shares = descriptorShares(given, threads, { limit, open })
        if (!shares.ok) return
        const { connections, attempts, forwards } = shares.value
        const own = open + 24 + 14 * threads + threads * (8 + 4 * each) + 32
        const all = own + connections + 4 * attempts + 2 * threads * forwards
        assert.ok(all <= limit, `${all} of ${limit}`)
        assert.ok(Math.min(connections, attempts, forwards) >= 1)
        const isAll = all < limit - 2 * threads - 4
        if (isAll) assert.deepEqual(shares, descriptorShares(given, threads, undefined))
      },
    ),
  )
})
