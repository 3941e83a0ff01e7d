import { test } from 'tap'
import { type RateLimits, TenantRates } from '../../src/threads/shared-memory/tenant-rates.js'

const second = 1_000_000_000n
const start = 5n * second

/** Two front ends that share the rates. */
function given(limits: RateLimits): readonly [TenantRates, TenantRates] {
  const memory = TenantRates.memory(limits)
  return [new TenantRates(limits, memory), new TenantRates(limits, memory)]
}

/** How many of some requests go on at a moment. */
function passed(rates: TenantRates, tenant: string, requests: number, now: bigint): number {
  return Array.from({ length: requests }, () => rates.take(tenant, now)).filter((wait) => wait === 0n).length
}

test('a burst goes on at once, then as many as the rate allows, over all front ends', async (t) => {
  const [one, other] = given({ general: { perSecond: 10, burst: 4 }, tenants: {} })
  t.equal(passed(one, 'a', 3, start), 3)
  t.equal(passed(other, 'a', 3, start), 1)
  t.equal(one.take('a', start), second / 10n, 'the wait is said')
  t.equal(passed(one, 'a', 9, start + second / 10n), 1)
  t.equal(passed(other, 'a', 9, start + second / 10n + second / 2n), 4, 'a pause gives a burst, not more')
  let inTenSeconds = 0
  for (let at = 0n; at < 1000n; at += 1n)
    inTenSeconds += passed(one, 'a', 1, start + 100n * second + at * (second / 100n))
  t.equal(inTenSeconds, 103)
})

test('tenants are counted apart, those with a rate of their own by it', async (t) => {
  const [rates] = given({
    general: { perSecond: 1, burst: 1 },
    tenants: { '': { perSecond: 1, burst: 3 }, b: { perSecond: 1, burst: 2 } },
  })
  t.same(
    ['a', 'b', '', 'c'].map((tenant) => passed(rates, tenant, 9, start)),
    [1, 2, 3, 1],
  )
  const [only] = given({ general: undefined, tenants: { b: { perSecond: 1, burst: 1 } } })
  t.same(
    ['a', 'b'].map((tenant) => passed(only, tenant, 9, start)),
    [9, 1],
  )
  t.equal(only.takeUnnamed(start), 0n)
})

test('more tenants than there is memory for share a limit, and nobody gets more for it', async (t) => {
  const [rates] = given({ general: { perSecond: 1, burst: 1 }, tenants: {} })
  const tenants = Array.from({ length: 20_000 }, (_, at) => `tenant${at}`)
  const first = tenants.filter((tenant) => rates.take(tenant, start) === 0n).length
  t.ok(first > 3000 && first <= 4097, `${first} of them were followed`)
  t.equal(tenants.filter((tenant) => rates.take(tenant, start) === 0n).length, 0)
  t.equal(rates.take('late', start + 3n * second), 0n, 'their memory is free when they pause')
  t.equal(rates.takeUnnamed(start + 9n * second), 0n)
  t.ok(rates.takeUnnamed(start + 9n * second) > 0n)
})
