import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { renderNotice } from '../../src/api/ngsi1/render/elements.js'
import { ChangeViews } from '../../src/api/ngsi2/render/change-view.js'
import { conditionEvaluator, messageRenderer } from '../../src/api/ngsi2/render/notification-message.js'
import type { Entity, Value } from '../../src/model/context/entity.js'
import { attributeOf } from '../../src/model/context/large/large-attribute.js'
import { LargeValue } from '../../src/model/context/large/large-value.js'
import { maxSteps, StepBudget, unbounded } from '../../src/model/context/step-budget.js'
import { Expressions } from '../../src/model/expression/expressions.js'
import { templateText } from '../../src/model/expression/json-template.js'
import type { Cause, Change } from '../../src/model/subscription/change.js'
import { Matcher } from '../../src/model/subscription/matcher.js'
import { type BodyTerms, renderedMessage } from '../../src/model/subscription/message.js'
import type { NewNotice } from '../../src/model/subscription/notice.js'
import type { Subscription } from '../../src/model/subscription/subscription.js'
import { attributeFormats, type HttpTemplate, type SubscriptionTerms } from '../../src/model/subscription/terms.js'
import { decodeChange, encodeChange, encodeTerms, heldTerms } from '../../src/storage/records/change-record.js'
import { noticeSections, noticesIn, noticeWrite } from '../../src/storage/records/notice-write.js'
import { decodeSections, encodeSections } from '../../src/storage/records/sections.js'
import { attribute, entity } from '../context/given-entity.js'
import { at, command, given, metadata, silentLog, tenant } from '../given.js'
import { runs } from '../runs.js'
import { nth, shortBody } from './given.js'

const parts = {
  ...{ expressions: new Expressions(100_000), views: new ChangeViews(), max_bytes: 2_000_000, fillsIn: true },
  legacyBody: renderNotice,
}
const renderer = messageRenderer(parts)

const cause: Cause = {
  ...command('UPDATE', 'Silo1'),
  origin: { correlator: 'c', token: 'secret', service: 'farm' },
  time: at(1000),
}

function termsWith(notification: Partial<BodyTerms['notification']>, onMetadata = true): SubscriptionTerms {
  return {
    ...{ description: '', status: 'active', armed: at(0), maxFails: undefined },
    condition: { alterations: [], onMetadata, expression: {}, scopes: [], jexl: undefined },
    notification: {
      ...{ target: { kind: 'http', timeout_ms: 0, custom: undefined }, format: 'normalized', excepts: false },
      ...{ metadata: [], onlyChanged: false, covered: false, ...notification },
    },
  }
}

/** The change and the terms as another thread reads them from the disk. */
function reread(change: Change, { id, attributes, terms }: Subscription): readonly [Change, BodyTerms] {
  const { notification, condition } = terms ?? termsWith({})
  const { change: held } = decodeChange(encodeChange({ change, time: cause.time, steps: maxSteps }))
  const stored = encodeTerms({ id, attributes, notification, onMetadata: condition?.onMetadata ?? true })
  return [held, heldTerms(id, JSON.parse(stored))]
}

const name = fc.constantFrom('a', 'b', 'c', 'alterationType', 'dateCreated')
const value: fc.Arbitrary<Value> = fc.oneof(
  fc.constantFrom<Value[]>('', 'x', '\n "ä', 'x'.repeat(300), 1.5, true, null, [1, { b: [] }], { $inc: 1 }, { k: 'v' }),
  fc.string(),
)
const attributes = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'c'), value, fc.option(value), fc.boolean()), { maxLength: 3 })
  .map((all) =>
    all.map(([of, held, meta, isDate], index) =>
      attribute(of, isDate ? '2026-01-02T03:04:05Z' : held, {
        instance: String(index),
        type: isDate ? 'DateTime' : '',
        metadata: meta === null ? [] : [metadata('unit', meta)],
        modified: at(index),
      }),
    ),
  )
const entities: fc.Arbitrary<Entity> = fc.tuple(attributes, fc.constantFrom('', 'Silo')).map(([held, type]) => ({
  ...entity({ id: 'Silo1', attributes: held }),
  type: type as Entity['type'],
}))
const changes: fc.Arbitrary<Change> = fc
  .record({
    kind: fc.constantFrom('put' as const, 'same' as const, 'remove' as const),
    after: entities,
    was: fc.option(entities, { nil: undefined }),
    changed: fc.subarray(['a', 'b', 'c']),
    given: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(value, { nil: undefined })), { maxLength: 3 }),
    isForced: fc.boolean(),
  })
  .map(({ kind, after, was, changed, given: all, isForced }) => ({
    ...{ kind, tenant, entity: after, before: kind === 'put' ? was : after, isForced },
    ...{ changed: kind === 'put' ? changed : [], given: all.map(([of, to]) => ({ name: of, value: to })) },
  }))
const templates: fc.Arbitrary<HttpTemplate | undefined> = fc.constantFrom<(HttpTemplate | undefined)[]>(
  undefined,
  { payload: '${a} of ${id} at ${service}%20${servicePath} by ${authToken} ${metadata.a.previousValue}' },
  { payload: null },
  { json: templateText({ a: '${a}', all: '${metadata}', b: ['x ${b}', 1] }) },
  { ngsi: templateText({ id: '${id}-copy', b: { value: '${a}', type: 'T' }, z: { value: [1, '${c|len}'] } }) },
  { payload: '${a' },
)
const subscriptions: fc.Arbitrary<Subscription> = fc
  .record({
    attributes: fc.array(name, { maxLength: 3 }),
    custom: templates,
    format: fc.constantFrom(...attributeFormats),
    excepts: fc.boolean(),
    metadata: fc.array(fc.constantFrom('*', 'unit', 'previousValue', 'actionType', 'dateModified'), { maxLength: 2 }),
    onlyChanged: fc.boolean(),
    covered: fc.boolean(),
    onMetadata: fc.boolean(),
  })
  .map(({ attributes: names, custom, onMetadata, ...shown }) => {
    const target = { kind: 'http', timeout_ms: 0, custom } as const
    return nth(1, { attributes: names, terms: termsWith({ ...shown, target }, onMetadata) }).subscription
  })

test('a body that is rendered later, from what is stored, is the one that the turn would have rendered', async () => {
  fc.assert(
    fc.property(changes, subscriptions, (change, subscription) => {
      const inTurn = renderedMessage(renderer, subscription, change, cause, new StepBudget(maxSteps))
      const [held, terms] = reread(change, subscription)
      const { origin, time } = cause
      const shown = { time, origin: { token: origin.token, service: origin.service } }
      const later = renderer.body(terms, held, shown, new StepBudget(maxSteps))
      if (inTurn === undefined) return
      const { body, message } = inTurn
      assert.deepEqual(
        later,
        message.undeliverable ? { ok: false, error: message.undeliverable } : { ok: true, value: body },
      )
    }),
    { numRuns: runs(1000) },
  )
})

/** Matches a change of an entity with this value with subscriptions, each of which has its own template. */
function matched(
  held: Value,
  template: (order: number) => HttpTemplate,
  count: number,
  origin: Partial<Cause['origin']> = {},
): readonly NewNotice[] {
  const matcher = matcherOf(template, count)
  matcher.match(changeTo(held), { ...cause, origin: { ...cause.origin, ...origin } })
  return matcher.notices
}

/** Has subscriptions, each of which has its own template. */
function matcherOf(template: (order: number) => HttpTemplate, count: number): Matcher {
  const matcher = new Matcher({
    ...{ legacyBody: shortBody, message: renderer, holds: conditionEvaluator(parts), expressions: parts.expressions },
    ...{ log: silentLog, memory_bytes: 10_000 },
  })
  for (let order = 1; order <= count; order += 1) {
    const target = { kind: 'http', timeout_ms: 0, custom: template(order) } as const
    matcher.put(nth(order, { terms: termsWith({ target }) }))
  }
  return matcher
}

function changeTo(held: Value): Change {
  const after = entity({ attributes: [attribute('a', held)] })
  const before = entity({ attributes: [attribute('a', '1')] })
  const of = { kind: 'put', tenant, entity: after, before, changed: ['a'], isForced: false } as const
  return { ...of, given: [given('a', held)] }
}

test('a long value that many subscriptions hear of is logged and stored once, and few bodies are rendered in the turn', async (t) => {
  const long: readonly Value[] = ['x'.repeat(60_000), { k: ['y'.repeat(30_000), 'z'.repeat(30_000)] }]
  for (const held of long) {
    const notices = matched(
      held,
      (order) => (order % 2 ? { payload: `${order} \${a}` } : { json: templateText({ a: '${a}' }) }),
      50,
    )
    const inTurn = notices.filter((notice) => 'body' in notice)
    t.equal(inTurn.length, 2)
    const [shared] = notices.filter((notice) => 'messages' in notice)
    t.equal(shared?.subscriptions.length, 48)
    t.equal(shared?.messages[0]?.correlator, 'c; cbnotif=3')
    const writes = notices.map(noticeWrite)
    const record = Buffer.from(encodeSections(noticeSections(writes)))
    t.ok(record.length < 4 * 60_000, `${record.length} bytes`)
    t.ok(
      record.equals(encodeSections(noticeSections(noticesIn(decodeSections(record))))),
      'another replica reads the same',
    )
  }
})

test('a long token that many subscriptions pass on is logged once for most of them, however short their bodies are', async (t) => {
  const token = 'x'.repeat(8000)
  const notices = matched('short', () => ({ payload: '${a}' }), 1000, { token })
  t.equal(notices.filter((notice) => 'body' in notice).length, 9)
  const record = encodeSections(noticeSections(notices.map(noticeWrite)))
  t.ok(record.length < 50 * token.length, `${record.length} bytes`)
})

test('short bodies are rendered in the turn, unless their templates take many steps together', async (t) => {
  t.ok(matched('short', () => ({ payload: '${a}' }), 100).every((notice) => 'body' in notice))
  const notices = matched('x'.repeat(900_000), () => ({ payload: '${a|len} ${a|len} ${a|len}' }), 20)
  t.match(notices[0], { body: '900000 900000 900000' })
  const [shared] = notices.filter((notice) => 'messages' in notice)
  t.ok((shared?.messages.length ?? 0) >= 10)
})

test('a short body about a large entity is rendered in the turn: to store the entity for it would take far more', async (t) => {
  t.match(
    matched('x'.repeat(900_000), () => ({ payload: 'changed' }), 1),
    [{ body: 'changed' }],
  )
})

test('a body that takes more steps than a turn has for it is rendered later, with all of them', async (t) => {
  const costly = matched(
    'x'.repeat(900_000),
    () => ({ payload: '${a|len} ${a|len} ${a|len} ${a|len} ${a|len} ${a|len}' }),
    1,
  )
  const [shared] = costly.filter((notice) => 'messages' in notice)
  const [only] = shared?.messages ?? []
  if (shared === undefined || only === undefined) throw new Error('it is rendered in the turn')
  const { change, steps } = shared.shown
  const later = renderer.body(only.terms, change, cause, new StepBudget(steps))
  t.strictSame(later, { ok: true, value: '900000 900000 900000 900000 900000 900000' })
})

test('a large object is not materialised in the turn to be shown, but when its notification is sent', async (t) => {
  const object = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]))
  const text = JSON.stringify(object)
  let made = 0
  const held = LargeValue.written(text, undefined, () => {
    made += 1
    return JSON.parse(text)
  })
  const after = entity({ attributes: [attributeOf({ ...attribute('a', '1'), value: held })] })
  const change: Change = { ...changeTo('1'), entity: after }
  const matcher = matcherOf((order) => ({ json: templateText({ order, a: order > 1 ? '${a}' : 'changed' }) }), 2)
  matcher.match(change, cause)
  t.equal(made, 0)
  const [first, shared] = matcher.notices
  t.match(first, { body: '{"order":1,"a":"changed"}' })
  const [only] = shared !== undefined && 'messages' in shared ? shared.messages : []
  if (only === undefined) throw new Error('it is rendered in the turn')
  const later = renderer.body(only.terms, change, cause, new StepBudget(maxSteps))
  t.strictSame(later, { ok: true, value: `{"order":2,"a":${text}}` })
})

test('however many subscriptions show a long text, each body has it', async (t) => {
  const held = 'x'.repeat(900_000)
  const notices = matched(held, (order) => ({ json: templateText({ order, a: '${a}' }) }), 300)
  const [first] = notices
  t.match(first, { body: JSON.stringify({ order: 1, a: held }) })
  const [shared] = notices.filter((notice) => 'messages' in notice)
  const last = shared?.messages.at(-1)
  if (shared === undefined || last === undefined) throw new Error('nothing is rendered later')
  const { change, steps } = shared.shown
  t.strictSame(renderer.body(last.terms, change, cause, new StepBudget(steps)), {
    ok: true,
    value: JSON.stringify({ order: 300, a: held }),
  })
})

test('expressions look up names in a large entity by one table, whichever notice they are for', async (t) => {
  const many = Array.from({ length: 5000 }, (_, order) => attribute(`a${order}`, order))
  const held = entity({ id: 'Silo1', attributes: many })
  const change: Change = { kind: 'same', tenant, entity: held, before: held, changed: [], given: [], isForced: false }
  // As the courier has it: an object of its own for each notice.
  const lookUpFor = (token: string) =>
    parts.views.of(change).lookUp({ time: cause.time, origin: { token, service: 'farm' } })
  const table = lookUpFor('secret')
  t.equal(table('a4711', unbounded()), 4711)
  t.equal(lookUpFor('secret'), table)
  t.equal(lookUpFor('other')('authToken', unbounded()), 'other')
  t.equal(lookUpFor('secret')('authToken', unbounded()), 'secret')
})

test('of a large change little is kept, however much of it is shown in different ways', async (t) => {
  const many = Array.from({ length: 100 }, (_, order) => attribute(`a${order}`, 'x'.repeat(10_000)))
  const held = entity({ id: 'Silo1', attributes: many })
  const change: Change = { kind: 'same', tenant, entity: held, before: held, changed: [], given: [], isForced: false }
  const view = new ChangeViews().of(change)
  const shown = view.members([], 'normalized')
  t.equal(view.members([], 'normalized'), shown)
  for (let without = 0; without < 20; without += 1) {
    const names = many.filter((_, order) => order !== without).map(({ name: own }) => own)
    const { notification } = termsWith({ format: 'keyValues' })
    const terms = { id: nth(without).subscription.id, attributes: names, notification, onMetadata: true }
    t.equal(view.body(terms), new ChangeViews().of(change).body(terms))
  }
  t.not(view.members([], 'normalized'), shown, 'it is rendered again')
})

test('subscriptions with different lists of names look them up in one table of a large entity', async (t) => {
  const many = Array.from({ length: 5000 }, (_, order) => attribute(`a${order}`, order))
  const held = entity({ id: 'Silo1', attributes: many })
  const change: Change = { kind: 'same', tenant, entity: held, before: held, changed: [], given: [], isForced: false }
  const view = new ChangeViews().of(change)
  const { notification } = termsWith({ format: 'keyValues' })
  const bodyOf = (order: number) => {
    const { id } = nth(order).subscription
    return view.body({ id, attributes: [`a${order}`], notification, onMetadata: true })
  }
  bodyOf(1)
  const { set } = Map.prototype
  let entered = 0
  Map.prototype.set = function counted(name, value) {
    entered += 1
    return set.call(this, name, value)
  }
  t.teardown(() => {
    Map.prototype.set = set
  })
  const body = bodyOf(2)
  t.match(body, '"a2":2')
  t.ok(entered < 100, `${entered} names`)
})
