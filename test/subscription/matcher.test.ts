import { test } from 'tap'
import { applyUpdate } from '../../src/model/context/apply.js'
import type { Entity, Tenant } from '../../src/model/context/entity.js'
import type { UpdateCommand } from '../../src/model/context/update.js'
import { changeBy } from '../../src/model/subscription/change.js'
import { Matcher } from '../../src/model/subscription/matcher.js'
import type { Notice } from '../../src/model/subscription/notice.js'
import { termsOf } from '../../src/model/subscription/patch.js'
import type { Subscription } from '../../src/model/subscription/subscription.js'
import { at, command, given, id, metadata, path, rendering, silentLog, type } from '../given.js'
import { any, clock, exact, lastOf, nth, nthId, pattern, shortBody } from './given.js'

const silo = { type: type('Silo') }

/** A condition that every creation and change meets. */
const unconditional = { alterations: [], onMetadata: true, expression: {}, scopes: [], jexl: undefined }

/** Entities and who has subscribed to them: every update is a turn of its own. */
class World {
  readonly warnings: string[] = []
  readonly matcher = new Matcher({
    ...{ legacyBody: shortBody, ...rendering, memory_bytes: 10_000 },
    log: { ...silentLog, warn: (_, message) => this.warnings.push(message) },
  })
  #held: readonly Entity[] = []

  constructor(...subscriptions: readonly Partial<Subscription>[]) {
    for (const [index, more] of subscriptions.entries()) this.matcher.put(nth(index + 1, more))
  }

  /** The notices that an update makes. */
  update(...given: Parameters<typeof command>): readonly Notice[] {
    return this.take(command(...given))
  }

  take(next: UpdateCommand): readonly Notice[] {
    const meant = this.#held.filter((entity) => entity.id === next.id && entity.path === next.path)
    for (const effect of applyUpdate(meant, next).effects) {
      this.#held = this.#held.filter(({ sequence }) => sequence !== effect.entity.sequence)
      if (effect.kind !== 'remove') this.#held = [...this.#held, effect.entity]
      this.matcher.match(changeBy(next, effect), next)
    }
    const notices = this.matcher.notices.flatMap((notice) => ('body' in notice ? [notice] : []))
    this.matcher.commit()
    return notices
  }
}

function bodies(notices: readonly Notice[]): readonly string[] {
  return notices.map(({ body }) => body)
}

test('a notice has what its change has: the line, path and tenant of the entity, the origin and time of the update', async (t) => {
  const world = new World({ path: { path: path('/a'), below: true }, tenant: 'acme' as Tenant })
  const next = command('APPEND', 'Silo1', [given('level', '1')], {
    ...silo,
    tenant: 'acme' as Tenant,
    path: path('/a/b'),
    origin: { correlator: 'corr-7', token: 'secret' },
  })
  t.same(world.take(next), [
    {
      subscription: nthId(1),
      orderingKey: { kind: 'entity', key: '/a/b 4 SiloSilo1' },
      made: next.time,
      tenant: 'acme',
      paths: ['/a/b'],
      correlator: 'corr-7',
      token: 'secret',
      body: 'Silo1: level=1',
    },
  ])
})

test('each condition may take an equal part of what all may take of a change, whatever the others take', async (t) => {
  const warnings: string[] = []
  const shares: number[] = []
  const matcher = new Matcher({
    ...{ legacyBody: shortBody, ...rendering, memory_bytes: 10_000 },
    log: { ...silentLog, warn: (_, message) => warnings.push(message) },
    holds: (expression, _change, _cause, budget) => {
      shares.push(budget.left)
      return budget.spend(Number(expression))
    },
  })
  const taking = (steps: number) => ({ ...termsOf({}), condition: { ...unconditional, jexl: String(steps) } })
  for (let order = 1; order <= 20; order += 1) {
    matcher.put(nth(order, { terms: taking(order % 2 === 0 ? 50_001 : 50_000) }))
  }
  for (const value of ['1', '2']) {
    const next = command('APPEND', 'Silo1', [given('level', value)], silo)
    for (const effect of applyUpdate([], next).effects) matcher.match(changeBy(next, effect), next)
    t.same(
      matcher.notices.flatMap((notice) => ('subscription' in notice ? notice.subscription : [])),
      [1, 3, 5, 7, 9, 11, 13, 15, 17, 19].map(nthId),
    )
    matcher.commit()
  }
  t.same(new Set(shares), new Set([50_000]))
  t.equal(warnings.length, 1, 'one in 10 s')
  t.match(warnings[0], /take too long for Silo1 \(Silo\): if one needs more than 50000 steps/)
})

test('updates that come back as custom notifications notify nobody, and of them there is a warning every 10 s', (t) => {
  const world = new World({})
  const update = (level: string, isCustom?: true) =>
    world.update('APPEND', 'Silo1', [given('level', level)], { origin: { correlator: 'c', token: '', isCustom } })
  t.equal(update('1').length, 1)
  for (const level of ['2', '3', '4']) t.same(update(level, true), [])
  t.equal(world.warnings.length, 1)
  t.match(world.warnings[0], /notification loop detected: the update of Silo1 /)
  t.end()
})

test('only subscriptions of the same tenant are woken; no tenant is one of its own', async (t) => {
  const world = new World({}, { tenant: 'acme' as Tenant })
  const wokenIn = (tenant: string) =>
    world
      .update('APPEND', 'Silo1', [given('level', tenant)], { tenant: tenant as Tenant })
      .map(({ subscription }) => subscription)
  t.same(wokenIn(''), [nthId(1)])
  t.same(wokenIn('acme'), [nthId(2)])
  t.same(wokenIn('other'), [])
})

test('a subscription fires before it expires, not at that moment, and never when it is born expired', async (t) => {
  const world = new World({ expires: at(5000) })
  const wokenAt = (time: number) =>
    world.update('APPEND', 'Silo1', [given('level', String(time))], { time: at(time) }).length
  t.same([4999, 5000, 5001].map(wokenAt), [1, 0, 0])
})

test('the path of the entity lies in that of the subscription', async (t) => {
  const ranges = [
    { path: path('/a'), below: false },
    { path: path('/a'), below: true },
    { path: path('/'), below: true },
    { path: path('/'), below: false },
  ]
  const world = new World(...ranges.map((range) => ({ path: range })))
  const wokenIn = (where: string) =>
    world
      .update('APPEND', 'Silo1', [given('level', '1')], { path: path(where) })
      .map(({ subscription }) => subscription)
  const ids = (...orders: readonly number[]) => orders.map(nthId)
  t.same(wokenIn('/a'), ids(1, 2, 3))
  t.same(wokenIn('/a/b'), ids(2, 3))
  t.same(wokenIn('/ab'), ids(3))
  t.same(wokenIn('/'), ids(3, 4))
})

test('the id is equal or the pattern is found in it; an empty type on either side matches any', async (t) => {
  const world = new World(
    { selectors: [exact(id('Silo1'), type('Silo'))] },
    { selectors: [exact(id('Silo1'))] },
    { selectors: [pattern('ilo', type('Silo'))] },
    { selectors: [pattern('^ilo')] },
    { selectors: [any(type('Tank'))] },
  )
  const woken = (name: string, of: string) =>
    world
      .update('APPEND', name, [given('level', '1')], { type: type(of) })
      .map(({ subscription }) => Number.parseInt(subscription, 16))
  t.same(woken('Silo1', 'Silo'), [1, 2, 3])
  t.same(woken('Silo12', 'Silo'), [3])
  t.same(woken('Silo1', 'Tank'), [2, 5])
  t.same(woken('Silo1', ''), [1, 2, 3, 5])
})

test('one notice is made for a subscription and a change, however many of its elements and triggers match', async (t) => {
  const world = new World({
    selectors: [exact(id('Silo1')), exact(id('Silo1')), pattern('Silo'), pattern('Silo', type('Silo')), any()],
    onChange: ['level', 'door'],
  })
  const attributes = [given('level', '1'), given('door', 'shut')]
  t.same(bodies(world.update('APPEND', 'Silo1', attributes, silo)), ['Silo1: door=shut level=1'])
  world.matcher.remove(nthId(1))
  t.same(world.update('APPEND', 'Silo1', [given('level', '2')], silo), [])
  t.ok(world.matcher.isIdle)
})

test('a change is notified only of a triggering attribute; without triggers of any', async (t) => {
  const world = new World({ onChange: ['level', 'co2'] }, {})
  world.update('APPEND', 'Silo1', [given('level', '1'), given('door', 'shut')])
  const woken = (...attributes: ReturnType<typeof given>[]) =>
    world.update('UPDATE', 'Silo1', attributes).map(({ subscription }) => Number.parseInt(subscription, 16))
  t.same(woken(given('level', '1'), given('door', 'open')), [2])
  t.same(woken(given('level', '2'), given('door', 'open')), [1, 2])
  t.same(woken(given('level', '2'), given('door', 'open')), [])
})

test('a subscription that changes do not fire is never woken', async (t) => {
  const world = new World({ onChange: undefined, interval_ms: 1000 })
  t.ok(world.matcher.isIdle)
  t.same(world.update('APPEND', 'Silo1', [given('level', '1')]), [])
})

test('nothing is notified when nothing is left to show', async (t) => {
  const world = new World({ attributes: ['door'] }, {})
  t.same(bodies(world.update('APPEND', 'Silo1', [given('level', '1')])), ['Silo1: level=1'])
  t.same(bodies(world.update('APPEND', 'Silo1', [given('door', 'shut')])), [
    'Silo1: door=shut',
    'Silo1: door=shut level=1',
  ])
  t.same(world.update('APPEND', 'Silo2'), [])
  t.same(world.update('REPLACE', 'Silo1'), [])
})

test('an update of entities of several types makes a notice for each', async (t) => {
  const world = new World({})
  world.update('APPEND', 'Silo1', [given('level', '1')], silo)
  world.update('APPEND', 'Silo1', [given('level', '1')], { type: type('Tank') })
  const notices = world.update('UPDATE', 'Silo1', [given('level', '2')])
  t.same(
    notices.map(({ orderingKey }) => orderingKey),
    ['Silo', 'Tank'].map((kind) => ({ kind: 'entity', key: `/ 4 ${kind}Silo1` })),
  )
})

test('the subscriptions that one change matches are notified in the order of their creation', async (t) => {
  const world = new World()
  for (const order of [3, 1, 2])
    world.matcher.put(nth(order, { selectors: [exact(id('Silo1')), pattern(`o|${order}`)] }))
  t.same(
    world.update('APPEND', 'Silo1', [given('level', '1')]).map(({ subscription }) => subscription),
    [1, 2, 3].map(nthId),
  )
})

test('an attribute has changed when it is new or its value, its given type or its metadata differ', async (t) => {
  const world = new World({ onChange: ['level'] })
  const first = given('level', '1', { type: 'percent', metadata: [metadata('accuracy', '0.5', 'float')] })
  const updates: readonly [string, ReturnType<typeof given>, 0 | 1][] = [
    ['new', first, 1],
    ['the same again', first, 0],
    ['another value', given('level', '2'), 1],
    ['the same value without type and metadata', given('level', '2'), 0],
    ['no value', given('level'), 0],
    ['the same type', given('level', '2', { type: 'percent' }), 0],
    ['another type', given('level', '2', { type: 'cm' }), 1],
    ['the same metadata', given('level', undefined, { metadata: [metadata('accuracy', '0.5')] }), 0],
    ['another metadata value', given('level', '2', { metadata: [metadata('accuracy', '0.6')] }), 1],
    ['another metadata type', given('level', '2', { metadata: [metadata('accuracy', '0.6', 'Number')] }), 1],
    ['a new metadata element', given('level', '2', { metadata: [metadata('unit', 'cm')] }), 1],
    [
      'metadata in another order',
      given('level', '2', { metadata: [metadata('unit', 'cm'), metadata('accuracy', '0.6')] }),
      0,
    ],
    ['a compound value', given('level', { low: ['1', '2'], high: { a: '3', b: '4' } }), 1],
    ['its members in another order', given('level', { high: { b: '4', a: '3' }, low: ['1', '2'] }), 0],
    ['its items in another order', given('level', { low: ['2', '1'], high: { a: '3', b: '4' } }), 1],
    ['a text with the same content as a number', given('level', '5'), 1],
    ['that number', given('level', 5), 1],
  ]
  for (const [what, attribute, notices] of updates)
    t.equal(world.update('APPEND', 'Silo1', [attribute]).length, notices, what)
})

test('every instance is compared on its own, and a change of any is one of the attribute', async (t) => {
  const world = new World({ onChange: ['level'] })
  const instances = (low: string, high: string) => [given('level', low, { ID: 'L' }), given('level', high, { ID: 'H' })]
  t.same(bodies(world.update('APPEND', 'Silo1', instances('1', '9'))), ['Silo1: levelH=9 levelL=1'])
  t.same(world.update('APPEND', 'Silo1', instances('1', '9')), [])
  t.same(bodies(world.update('UPDATE', 'Silo1', [given('level', '2', { ID: 'L' })])), ['Silo1: levelH=9 levelL=2'])
  t.same(bodies(world.update('DELETE', 'Silo1', [given('level', undefined, { ID: 'H' })])), ['Silo1: levelL=2'])
})

test('APPEND_STRICT changes the attributes that it adds', async (t) => {
  const world = new World({ onChange: ['level'] }, { onChange: ['door'] })
  world.update('APPEND', 'Silo1', [given('level', '1')])
  const notices = world.update('APPEND_STRICT', 'Silo1', [given('level', '2'), given('door', 'shut')])
  t.match(notices, [{ subscription: nthId(2), body: 'Silo1: door=shut level=1' }])
  t.equal(notices.length, 1)
})

test('UPDATE does not change attributes that are not there', async (t) => {
  const world = new World({ onChange: ['level'] }, { onChange: ['door'] })
  world.update('APPEND', 'Silo1', [given('level', '1')])
  const notices = world.update('UPDATE', 'Silo1', [given('door', 'shut'), given('level', '2')])
  t.match(notices, [{ subscription: nthId(1), body: 'Silo1: level=2' }])
  t.equal(notices.length, 1)
  t.same(world.update('UPDATE', 'Silo1', [given('door', 'shut')]), [])
})

test('REPLACE changes the attributes that it writes, as they were or not, and not those that it drops', async (t) => {
  const world = new World({ onChange: ['level'] }, { onChange: ['door'] })
  world.update('APPEND', 'Silo1', [given('level', '1'), given('door', 'shut')])
  const notices = world.update('REPLACE', 'Silo1', [given('level', '1')])
  t.match(notices, [{ subscription: nthId(1), body: 'Silo1: level=1' }])
  t.equal(notices.length, 1)
})

test('DELETE changes the attributes that it removes and shows what is left; that of an entity notifies nobody', async (t) => {
  const world = new World({ onChange: ['level'] })
  world.update('APPEND', 'Silo1', [given('level', '1'), given('door', 'shut')])
  t.same(bodies(world.update('DELETE', 'Silo1', [given('level'), given('co2')])), ['Silo1: door=shut'])
  t.same(world.update('DELETE', 'Silo1', [given('level')]), [])
  world.update('APPEND', 'Silo2', [given('level', '1')])
  t.same(world.update('DELETE', 'Silo2', [given('level')]), [])
  world.update('APPEND', 'Silo3', [given('level', '1')])
  t.same(world.update('DELETE', 'Silo3'), [])
})

test('an element that ends in an error notifies nobody', async (t) => {
  const world = new World({})
  world.update('APPEND', 'Silo1', [given('level', '1', { ID: 'L' })])
  t.same(world.update('APPEND', 'Silo1', [given('door', 'shut'), given('level', '2')]), [])
})

test('a notice that throttling suppresses is not made up for, and silent changes do not count as notices', async (t) => {
  const memory = clock()
  const world = new World()
  world.matcher.put(nth(1, { throttling_ms: 5000, onChange: ['level'] }, memory))
  const woken = (time: number, name: string) =>
    bodies(world.update('APPEND', 'Silo1', [given(name, String(time))], { time: at(time) }))
  t.same(woken(10_000, 'level'), ['Silo1: level=10000'])
  t.same(woken(14_999, 'level'), [])
  t.same(woken(15_000, 'door'), [])
  t.equal(lastOf(memory), 10_000)
  t.same(woken(15_001, 'level'), ['Silo1: door=15000 level=15001'])
  t.equal(lastOf(memory), 15_001)
})

test('a subscription that is put again takes the sequence of the earlier one', async (t) => {
  const world = new World({ onChange: ['level'] })
  world.matcher.put(nth(1, { onChange: ['door'] }))
  t.same(world.update('APPEND', 'Silo1', [given('level', '1')]), [])
  t.equal(world.update('APPEND', 'Silo1', [given('door', '1')]).length, 1)
})

test('a turn that is undone leaves neither notices nor moments, the last one noted is given back first', async (t) => {
  const [throttled, free] = [clock(1000), clock(7)]
  const world = new World()
  world.matcher.put(nth(1, { throttling_ms: 100 }, throttled))
  world.matcher.put(nth(2, {}, free))
  const entity = applyUpdate([], command('APPEND', 'Silo1', [given('level', '1')])).effects[0]
  if (entity?.kind !== 'put') throw new Error('the entity is created')
  const next = command('APPEND', 'Silo1')
  for (const time of [2000, 2050, 2100].map(at)) world.matcher.match(changeBy(next, entity), { ...next, time })
  t.equal(world.matcher.notices.length, 5)
  t.same([lastOf(throttled), lastOf(free)], [2100, 2100])
  world.matcher.undo()
  t.same(world.matcher.notices, [])
  t.same([lastOf(throttled), lastOf(free)], [1000, 7])
})

test('a change that matches many is told to all of them at once, with the entity instead of a body for each', async (t) => {
  const world = new World(
    ...Array.from({ length: 400 }, (_, at) => ({ attributes: at % 2 === 0 ? ['level'] : ['door'] })),
  )
  const next = command('APPEND', 'Silo1', [given('level', 'x'.repeat(100_000))], silo)
  const [effect] = applyUpdate([], next).effects
  if (effect?.kind !== 'put') throw new Error('nothing was created')
  world.matcher.match(changeBy(next, effect), next)
  const [notice, ...others] = world.matcher.notices
  t.same(others, [])
  t.match(notice, { orderingKey: { kind: 'entity' }, made: next.time, entity: { id: 'Silo1' } })
  const even = Array.from({ length: 200 }, (_, at) => nthId(2 * at + 1))
  t.same(
    notice && 'subscriptions' in notice && notice.subscriptions,
    even,
    'those that are shown something, by creation',
  )
})

test('notices carry through whose hands a change came, and one that has come round makes none', async (t) => {
  const world = new World({ onChange: ['level'] })
  const update = command('APPEND', 'Silo1', [given('level', '1')])
  const via = '1.1 rigel-a'
  t.match(world.take({ ...update, origin: { ...update.origin, via } }), [{ via }])
  const changed = command('APPEND', 'Silo1', [given('level', '2')])
  t.same(world.take({ ...changed, origin: { ...changed.origin, ends: true } }), [])
})
