import { type Test, test } from 'tap'
import { type PlayedMachine, playedUpdates, type UpdateCosts } from '../../bench/played-machine.js'

const costs: UpdateCosts = { frontEnd_us: 50, partition_us: 20, flush_us: 100, load_us: 0 }
const large: PlayedMachine = { processors: 64, httpThreads: 32, partitions: 32, connections: 256 }

function about(t: Test, found: number, expected: number, what: string): void {
  t.ok(Math.abs(found - expected) < 0.03 * expected, `${what}: ${found} instead of about ${expected}`)
}

test('a machine does as much as the part that has no time left', async (t) => {
  const rate = (machine: Partial<PlayedMachine>, of: Partial<UpdateCosts> = {}): number =>
    playedUpdates({ ...costs, ...of }, { ...large, ...machine }).rate_per_s
  about(t, rate({ httpThreads: 1 }), 20_000, 'one front end')
  about(t, rate({ httpThreads: 4 }), 80_000, 'four front ends')
  about(t, rate({ processors: 2 }), 2e6 / 70, 'two processors')
  about(t, rate({ partitions: 1 }, { flush_us: 0 }), 50_000, 'one partition')
  about(t, rate({ httpThreads: 1 }, { load_us: 80 }), 12_500, 'one program that sends updates')
})

test('one connection waits for all that its update takes, and a flush is shared by those that wait for it', async (t) => {
  about(t, playedUpdates(costs, { ...large, connections: 1 }).rate_per_s, 1e6 / 170, 'one connection')
  const one = { ...large, partitions: 1, httpThreads: 32 }
  const slow = { ...costs, flush_us: 10_000 }
  const { rate_per_s, processors_ratio } = playedUpdates(slow, { ...one, connections: 64 })
  // In turns of all that do not wait for the turn before.
  t.ok(rate_per_s > 64e6 / 2 / 11_000 && rate_per_s < 64e6 / 10_000, `${rate_per_s}`)
  t.ok(processors_ratio < 0.1)
})

test('the same updates are played at each call', async (t) => {
  t.same(playedUpdates(costs, large), playedUpdates(costs, large))
})
