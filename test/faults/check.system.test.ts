import fc from 'fast-check'
import { test } from 'tap'
import { violationsOf } from './check.js'
import { type Arrival, type EntityHistory, History, type Read, type Result, type Write } from './history.js'

const write = (value: number, start_ms: number, end_ms: number, result: Result = 'acknowledged'): Write => ({
  value,
  start_ms,
  end_ms,
  result,
})
const read = (value: number, start_ms: number, end_ms: number): Read => ({ values: [value, value], start_ms, end_ms })
const absent = (start_ms: number, end_ms: number): Read => ({ values: [], start_ms, end_ms })
const arrival = (value: number, id = `n${value}`): Arrival => ({ subscription: 's', id, values: [value, value] })

type Happened = Partial<Pick<EntityHistory, 'writes' | 'reads' | 'arrivals'>>

/** A history of one entity, Tank1, of which a subscription is told if arrivals are given. */
function history(writers: EntityHistory['writers'], happened: Happened): History {
  const all = new History()
  const entity = all.add('Tank1', writers, happened.arrivals ? ['s'] : [])
  entity.writes.push(...(happened.writes ?? []))
  entity.reads.push(...(happened.reads ?? []))
  entity.arrivals.push(...(happened.arrivals ?? []))
  return all
}

/** Three updates one after the other. */
const three = [write(1, 0, 1), write(2, 2, 3), write(3, 4, 5)]

test('a history that keeps all promises has no violation', async (t) => {
  const reads = [absent(0, 1), read(1, 0, 9), read(2, 3.5, 3.6), read(3, 4.5, 4.6), read(3, 6, 7)]
  const arrivals = [arrival(1), arrival(2), arrival(1), arrival(2), arrival(3)]
  t.same(violationsOf(history('one', { writes: three, reads: reads.slice(2), arrivals })), [])
  const overlapping = [write(1, 0, 10), write(2, 0, 10), write(3, 0, 10, 'unknown'), write(4, 0, 10, 'refused')]
  const seen = [absent(0, 2), read(2, 1, 3), read(1, 4, 5), read(3, 20, 21)]
  t.same(violationsOf(history('several', { writes: overlapping, reads: seen })), [])
})

const broken: readonly (readonly [name: string, history: History, violation: RegExp])[] = [
  [
    'an acknowledged update that is lost',
    history('one', { writes: three, reads: [read(2, 6, 7)] }),
    /3 was acknowledged, and a later read showed 2/,
  ],
  [
    'an entity that is lost',
    history('one', { writes: three, reads: [absent(6, 7)] }),
    /3 was acknowledged, and a later read showed 0/,
  ],
  [
    'a refused update that took effect',
    history('one', { writes: [write(1, 0, 1, 'refused')], reads: [read(1, 2, 3)] }),
    /showed 1, which had been refused/,
  ],
  [
    'a refused update that is notified',
    history('one', { writes: [write(1, 0, 1, 'refused')], arrivals: [arrival(1)] }),
    /a notification showed 1, which had been refused/,
  ],
  [
    'half of an update',
    history('one', { writes: three, reads: [{ values: [3, 2], start_ms: 6, end_ms: 7 }] }),
    /showed a part of an update: 3, 2/,
  ],
  [
    'an attribute that is missing',
    history('one', { writes: three, reads: [{ values: [3], start_ms: 6, end_ms: 7 }] }),
    /showed a part of an update: 3/,
  ],
  [
    'a value that was not sent yet',
    history('one', { writes: three, reads: [read(3, 2, 3)] }),
    /showed 3, which nobody had sent/,
  ],
  [
    'a value that was never sent',
    history('one', { writes: three, reads: [read(9, 6, 7)] }),
    /showed 9, which nobody had sent/,
  ],
  [
    'reads that go back, though no update was acknowledged',
    history('one', {
      writes: [write(1, 0, 1), write(2, 2, 9, 'unknown')],
      reads: [read(2, 3, 4), read(1, 5, 6)],
    }),
    /reads went back from 2 to 1/,
  ],
  [
    'an update that was never notified',
    history('one', { writes: three, arrivals: [arrival(1), arrival(3)] }),
    /2 was acknowledged but never notified/,
  ],
  [
    'a subscription that was told of nothing',
    history('one', { writes: three, arrivals: [] }),
    /1 was acknowledged but never notified/,
  ],
  [
    'an unknown update that was read but not notified',
    history('one', {
      writes: [write(1, 0, 1), write(2, 2, 3, 'unknown')],
      reads: [read(2, 4, 5)],
      arrivals: [arrival(1)],
    }),
    /2 was read but never notified/,
  ],
  [
    'notifications in another order',
    history('one', { writes: three, arrivals: [arrival(1), arrival(3), arrival(2)] }),
    /2 was notified after 3/,
  ],
  [
    'a change that was carried out twice',
    history('one', { writes: three, arrivals: [arrival(1), arrival(2), arrival(2, 'again'), arrival(3)] }),
    /2 came in two notifications, n2 and again/,
  ],
  [
    'a notification with two contents',
    history('one', { writes: three, arrivals: [arrival(1), arrival(2), arrival(3), arrival(2, 'n3')] }),
    /notification n3 came with 3 and with 2/,
  ],
  [
    'two clients that see two updates in different orders',
    history('several', {
      writes: [write(1, 0, 10), write(2, 0, 10)],
      reads: [read(1, 11, 12), read(2, 13, 14)],
    }),
    /2 was written while 1|were both current|2 and 1/,
  ],
  [
    'a value that returns',
    history('several', {
      writes: [write(1, 0, 1), write(2, 2, 3)],
      reads: [read(1, 4, 5), read(2, 6, 7)],
    }),
    /2 was written while 1 was current|were both current/,
  ],
  [
    'an update that a later read misses, though others write as well',
    history('several', { writes: [write(1, 0, 1), write(2, 2, 3)], reads: [read(1, 4, 5)] }),
    /2 was written while 1 was current before and after/,
  ],
  [
    'notifications whose order no order of the updates explains',
    history('several', {
      writes: [write(1, 0, 1), write(2, 2, 3)],
      arrivals: [arrival(2), arrival(1)],
    }),
    /2 was sent after 1 was acknowledged, but took effect before it/,
  ],
  [
    'reads that contradict the order of the notifications',
    history('several', {
      writes: [write(1, 0, 10), write(2, 0, 10)],
      reads: [read(2, 1, 2), read(1, 3, 4)],
      arrivals: [arrival(1), arrival(2)],
    }),
    /reads went back from 2 to 1/,
  ],
]

for (const [name, happened, violation] of broken) {
  test(`the check finds ${name}`, async (t) => {
    t.match(violationsOf(happened).join('\n'), violation)
  })
}

test('the check of pages finds what is missing, what comes twice, and another order', async (t) => {
  const made = (...pages: readonly (readonly string[])[]): string => {
    const all = history('one', { writes: three })
    all.walked.add('Tank1').add('Tank2')
    all.add('Tank2', 'one', []).writes.push(write(1, 0, 1))
    all.walks.push(...pages.map((entities) => ({ entities, start_ms: 6, end_ms: 7 })))
    return violationsOf(all).join('\n')
  }
  t.equal(made(['Tank1', 'Tank2']), '')
  t.match(made(['Tank1']), /pages did not show Tank2/)
  t.match(made(['Tank1', 'Tank2', 'Tank1']), /pages showed an entity twice/)
  t.match(made(['Tank2', 'Tank1'], ['Tank1', 'Tank2']), /another order/)
})

/** Operations of several clients on a register that works: each takes effect at a moment between its start and its end. */
const operations = fc.array(
  fc.record({
    moment: fc.double({ min: 0, max: 100, noNaN: true }),
    before: fc.double({ min: 0.001, max: 20, noNaN: true }),
    after: fc.double({ min: 0.001, max: 20, noNaN: true }),
    kind: fc.constantFrom('write', 'read', 'lost'),
  }),
  { minLength: 1, maxLength: 40 },
)

/** The history that such operations leave. */
function registerHistory(
  happened: readonly { moment: number; before: number; after: number; kind: string }[],
): History {
  const writes: Write[] = []
  const reads: Read[] = []
  let current = 0
  let next = 0
  for (const { moment, before, after, kind } of happened.toSorted((a, b) => a.moment - b.moment)) {
    const start_ms = moment - before
    const end_ms = moment + after
    if (kind === 'read') reads.push(current === 0 ? absent(start_ms, end_ms) : read(current, start_ms, end_ms))
    else {
      next += 1
      current = next
      writes.push(write(current, start_ms, end_ms, kind === 'lost' ? 'unknown' : 'acknowledged'))
    }
  }
  return history('several', { writes, reads })
}

test('the check accepts every history of a register that works', async (t) => {
  fc.assert(fc.property(operations, (happened) => violationsOf(registerHistory(happened)).length === 0))
  t.pass('no false alarm')
})

test('the check finds a read of what was replaced before it began', async (t) => {
  const property = fc.property(operations, fc.nat(), (happened, which) => {
    const all = registerHistory(happened)
    const tank = all.entities.get('Tank1')
    const acknowledged = tank?.writes.filter(({ result }) => result === 'acknowledged') ?? []
    const old = acknowledged[which % Math.max(1, acknowledged.length)]
    if (!tank || !old) return true
    tank.writes.push(write(1000, old.end_ms + 1000, old.end_ms + 1001))
    tank.reads.push(read(old.value, old.end_ms + 1002, old.end_ms + 1003))
    return violationsOf(all).length > 0
  })
  fc.assert(property)
  t.pass('each is found')
})
