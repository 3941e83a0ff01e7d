import { test } from 'tap'
import type { Attribute, Entity, Tenant } from '../../src/model/context/entity.js'
import type { Change } from '../../src/model/subscription/change.js'
import { Matcher } from '../../src/model/subscription/matcher.js'
import { termsOf } from '../../src/model/subscription/patch.js'
import type { Subscription } from '../../src/model/subscription/subscription.js'
import type { FiringCondition, NotificationTerms } from '../../src/model/subscription/terms.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import { at, command, given, id, metadata, path, rendering, silentLog, type } from '../given.js'
import { nth, shortBody } from './given.js'

const names = (count: number) => Array.from({ length: count }, (_, one) => `a${String(one).padStart(5, '0')}`)

/** How often attributes are looked at: each time that one is compared, found or shown, its name is read. */
let looks = 0

function attribute(name: string, value: string): Attribute {
  const [created, modified] = [at(1), at(2)]
  return {
    get name() {
      looks += 1
      return name
    },
    ...{ instance: '', type: 'Text', value, isLocation: false, metadata: [metadata('m', value)], created, modified },
  }
}

function withAttributes(count: number, value: string): Entity {
  const [created, modified, sequence] = [at(1), at(2), 1 as Sequence]
  const attributes = names(count).map((name) => attribute(name, value))
  return { path: path('/'), id: id('Silo1'), type: type('Silo'), sequence, created, modified, attributes }
}

/** An update of all attributes of an entity. */
function changeOf(count: number): Change {
  return {
    ...{ kind: 'put', tenant: '' as Tenant, changed: names(count), isForced: false },
    ...{ before: withAttributes(count, '1'), entity: withAttributes(count, '2') },
    given: names(count).map((name) => given(name, '2', { type: 'Text', metadata: [metadata('m', '2')] })),
  }
}

function withTerms(
  condition: Partial<FiringCondition>,
  notification: Partial<NotificationTerms>,
  more: Partial<Subscription> = {},
): Partial<Subscription> {
  const terms = termsOf({})
  const always = { alterations: [], onMetadata: true, expression: {}, scopes: [], jexl: undefined }
  return {
    terms: {
      ...terms,
      condition: { ...always, ...condition },
      notification: { ...terms.notification, format: 'normalized', ...notification },
    },
    ...more,
  }
}

/** What a subscription asks, of an entity with this many attributes; each one may ask for something else. */
type Terms = (count: number, order: number) => Partial<Subscription>

/** How many looks at attributes it takes to match a change with subscriptions; there is a notice for each of them. */
function looksFor(count: number, subscriptions: number, request: Terms): number {
  const matcher = new Matcher({ legacyBody: shortBody, ...rendering, log: silentLog, memory_bytes: 10_000 })
  for (let order = 1; order <= subscriptions; order += 1) matcher.put(nth(order, request(count, order)))
  const change = changeOf(count)
  looks = 0
  matcher.match(change, { ...command('UPDATE', 'Silo1', []), time: at(1000) })
  const notices = matcher.notices.reduce((sum, one) => sum + ('subscriptions' in one ? one.subscriptions.length : 1), 0)
  if (notices !== subscriptions) throw new Error(`${notices} notices`)
  return looks
}

const http = { kind: 'http', timeout_ms: 0 } as const
const kinds: Readonly<Record<string, Terms>> = {
  'all attributes': () => withTerms({}, {}),
  'changes of values only': () => withTerms({ onMetadata: false }, {}),
  'changes of any of many attributes': (count) => withTerms({ onMetadata: false }, {}, { onChange: names(count) }),
  'updates that change nothing': (count) =>
    withTerms({ alterations: ['entityUpdate'] }, {}, { onChange: names(2 * count).slice(count - 1) }),
  'previous values and actions': () => withTerms({}, { metadata: ['*', 'previousValue', 'actionType'] }),
  'many metadata': (count) => withTerms({}, { metadata: [...names(count), 'm'] }),
  'metadata, each some that no attribute has': (_, order) =>
    withTerms({}, { metadata: ['m', 'previousValue', `none${order}`] }),
  'what was changed, of many attributes': (count) => withTerms({}, { onlyChanged: true }, { attributes: names(count) }),
  'all but some': (count) => withTerms({}, { excepts: true }, { attributes: names(count / 2) }),
  'a condition and a template': () =>
    withTerms(
      { jexl: "a00001 == '2' && metadata.a00001.previousValue == '1'" },
      { target: { ...http, custom: { payload: '${a00001}' } } },
      { reference: 'http://alerts.example/${id}' },
    ),
}

test('what subscriptions ask of a change takes time that grows with its attributes, no faster', async (t) => {
  for (const [kind, request] of Object.entries(kinds)) {
    const [less, more] = [looksFor(200, 4, request), looksFor(400, 4, request)]
    t.ok(less > 0 && more <= 2.5 * less, `${kind}: ${more} looks after ${less}`)
  }
})

test('what several subscriptions show alike is rendered once', async (t) => {
  for (const [kind, request] of Object.entries(kinds)) {
    const [two, many] = [looksFor(200, 2, request), looksFor(200, 32, request)]
    t.ok(many <= 1.5 * two, `${kind}: ${many} looks after ${two}`)
  }
})
