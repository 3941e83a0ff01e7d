import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { Change } from '../../src/model/subscription/change.js'
import { Matcher } from '../../src/model/subscription/matcher.js'
import type { NewNotice, Notice } from '../../src/model/subscription/notice.js'
import { withSharedTexts } from '../../src/model/subscription/shared-texts.js'
import type { SubscriptionTerms } from '../../src/model/subscription/terms.js'
import { noticeSections, noticesIn, noticeWrite } from '../../src/storage/records/notice-write.js'
import { decodeSections, encodeSections } from '../../src/storage/records/sections.js'
import { attribute, entity } from '../context/given-entity.js'
import { at, command, given, rendering, silentLog, tenant } from '../given.js'
import { notice, subscriptionId } from '../given-subscription.js'
import { runs } from '../runs.js'
import { nth, shortWording } from './given.js'

const long = 40_000

/** What is told to each subscription, whether it is stored alone or not. */
function told(notices: readonly NewNotice[]): ReadonlyMap<string, Notice> {
  return new Map(
    notices.flatMap((each): readonly (readonly [string, Notice])[] => {
      if (!('subscriptions' in each)) return [[each.subscription, each]]
      if (!('text' in each)) throw new Error('there is no shared entity here')
      const { subscriptions, messages, text, ...common } = each
      return subscriptions.map((subscription, index) => {
        const { pieces = [], ...own } = messages[index] ?? { correlator: '' }
        return [subscription, { ...common, ...own, subscription, body: pieces.join(text) }]
      })
    }),
  )
}

test('bodies that have the long text of an entity in common say the same as alone, whatever stands around it', async (t) => {
  const piece = fc.constantFrom('', 'a', '1 "', 'aaaaaaaaab', 'b'.repeat(70_000), 'ä')
  fc.assert(
    fc.property(
      fc.constantFrom('a'.repeat(long), `${'a'.repeat(long)}b`, `"${'ä'.repeat(long)}`, 'short', '\n'.repeat(long)),
      fc.array(fc.tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.boolean(), fc.nat(1)), { maxLength: 5 }),
      (value, bodies) => {
        const notices = bodies.map(([pieces, isQuoted, later]) => {
          const text = isQuoted ? JSON.stringify(value).slice(1, -1) : value
          const message = { format: isQuoted ? 'normalized' : 'custom' }
          return notice({ subscription: subscriptionId(), made: at(later), body: pieces.join(text), message })
        })
        const of = entity({ attributes: [attribute('a', '1'), attribute('b', value), attribute('c', null)] })
        const after = withSharedTexts(notices, of)
        assert.deepEqual(
          [...told(after)].sort(),
          notices.map((each): [string, Notice] => [each.subscription, each]).sort(),
        )
      },
    ),
    { numRuns: runs(150) },
  )
  const two = ['1', '2'].map((before) =>
    notice({ subscription: subscriptionId(), body: `${before} ${'a'.repeat(long)}` }),
  )
  t.equal(withSharedTexts(two, entity({ attributes: [attribute('a', 'a'.repeat(long))] })).length, 1)
})

test('a text that is nearly found everywhere is looked for in a few places', async (t) => {
  const value = `b${'a'.repeat(900_000)}`
  const near = `${'baaaaaaa'.repeat(100)}${'a'.repeat(1_800_000)}`
  const notices = Array.from({ length: 20 }, () => notice({ subscription: subscriptionId(), body: near }))
  t.equal(withSharedTexts(notices, entity({ attributes: [attribute('a', value)] })), notices)
})

test('a long text that many subscriptions hear of by templates of their own is logged and stored once', async (t) => {
  const matcher = new Matcher({ word: shortWording, ...rendering, log: silentLog, memory_bytes: 10_000 })
  const http = { kind: 'http', timeout_ms: 0 } as const
  for (let order = 1; order <= 20; order += 1) {
    const custom = order % 2 === 0 ? { payload: `${order} \${a}` } : { json: { n: order, a: '${a}' } }
    const notification = { target: { ...http, custom }, format: 'normalized' } as const
    const terms: SubscriptionTerms = {
      ...{ description: '', status: 'active', armed: at(0), condition: undefined, maxFails: undefined },
      notification: { ...notification, excepts: false, metadata: [], onlyChanged: false, covered: false },
    }
    matcher.put(nth(order, { terms }))
  }
  const value = 'x'.repeat(60_000)
  const after = entity({ attributes: [attribute('a', value)] })
  const cause = { ...command('UPDATE', 'Silo1', [given('a', value)]), time: at(1000) }
  const before = entity({ attributes: [attribute('a', '1')] })
  const change: Change = {
    ...{ kind: 'put', tenant, entity: after, before, changed: ['a'] },
    ...{ given: [given('a', value)], isForced: false },
  }
  matcher.match(change, cause)
  t.equal(told(matcher.notices).size, 20)
  const writes = matcher.notices.map(noticeWrite)
  const record = Buffer.from(encodeSections(noticeSections(writes)))
  t.ok(record.length < 2 * value.length, `${record.length} bytes`)
  t.ok(
    record.equals(encodeSections(noticeSections(noticesIn(decodeSections(record))))),
    'another replica reads the same',
  )
})
