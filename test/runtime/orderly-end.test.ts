import { test } from 'tap'
import {
  type Ending,
  type EndState,
  endInOrder,
  endingParts,
  endTransition,
  givenUpText,
  partsUsed,
} from '../../src/runtime/orderly-end.js'
import { Random } from '../replica/schedule.js'

const parts = Object.keys(partsUsed) as Ending[]
const none: EndState = { begun: new Set(), ended: new Set() }

/** The parts in the order in which they have ended, where each may take any time; throws when one ends that is still used. */
function played(seed: number, uses = partsUsed): readonly Ending[] {
  const random = new Random(seed)
  const order: Ending[] = []
  let { state, end } = endTransition(none, { kind: 'begin' }, uses)
  const ending: Ending[] = [...end]
  while (ending.length > 0) {
    const [part] = ending.splice(random.below(ending.length), 1)
    if (part === undefined) break
    order.push(part)
    ;({ state, end } = endTransition(state, { kind: 'ended', part }, uses))
    for (const next of end) {
      const user = parts.find((each) => partsUsed[each].includes(next) && !state.ended.has(each))
      if (user !== undefined) throw new Error(`${next} is ended while ${user} uses it`)
    }
    ending.push(...end)
  }
  return order
}

test('every part ends once, and nothing before what uses it, however long each takes', async (t) => {
  for (let seed = 1; seed <= 200; seed += 1) t.same([...played(seed)].sort(), [...parts].sort())
})

test('the courier has ended before the stores whose outboxes it reads', async (t) => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const order = played(seed)
    const courier = order.indexOf('courier')
    for (const part of ['coordinatorStore', 'partitions'] as const) t.ok(courier < order.indexOf(part))
    t.ok(courier > order.indexOf('frontEnds'), 'what clients were promised is sent')
  }
  const without = { ...partsUsed, courier: [], clocks: [], frontEnds: [], handover: [] }
  t.throws(() => Array.from({ length: 50 }, (_, seed) => played(seed, without)), /is ended while/)
})

test('parts end one after the other, and a part that cannot be ended ends the order', async (t) => {
  const ended: Ending[] = []
  const steps = Object.fromEntries(parts.map((part) => [part, async () => {}])) as Record<Ending, () => Promise<void>>
  await endInOrder(steps, (part) => ended.push(part))
  t.same([...ended].sort(), [...parts].sort())
  const fails = endInOrder({ ...steps, partitions: () => Promise.reject(new Error('a turn failed')) }, (part) =>
    ended.push(part),
  )
  ended.length = 0
  await t.rejects(fails, { message: 'a turn failed' })
  t.notOk(ended.includes('engine'))
})

test('what an orderly end gives up is named: requests, and the parts that were ending, not those that wait for them', async (t) => {
  t.same(endingParts(new Set(parts)), [])
  t.equal(givenUpText({ requests: 0, parts: [] }), undefined)
  t.equal(givenUpText({ requests: 1, parts: [] }), '1 request')
  t.equal(givenUpText({ requests: 1, parts: ['frontEnds', 'nodeLinks'] }), '1 request, requests to other nodes')
  t.equal(givenUpText({ requests: 0, parts: ['frontEnds'] }), 'requests', 'not even their number is known')
  const ended = new Set<Ending>([
    'sweeper',
    'handover',
    'frontEnds',
    'clocks',
    'courier',
    'coordinatorStore',
    'nodeLinks',
  ])
  t.same(endingParts(ended), ['partitions'])
  t.equal(givenUpText({ requests: 2, parts: endingParts(ended) }), '2 requests, turns of partitions')
})
