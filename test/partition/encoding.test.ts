import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { valueGiven } from '../../src/model/context/large/large-given.js'
import { LargeValue } from '../../src/model/context/large/large-value.js'
import { writeInSteps } from '../../src/model/context/large/written-value.js'
import { operatorGiven } from '../../src/model/context/operators.js'
import { updateActions } from '../../src/model/context/update.js'
import type { DeliveryStats } from '../../src/model/subscription/notice.js'
import type { Command, Reply } from '../../src/partition/turn/commands.js'
import { decodeCommands, decodeReplies, encodeCommands, encodeReplies } from '../../src/partition/turn/encoding.js'
import { atOnce } from '../../src/slices.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import { at, id, path, tenant, type } from '../given.js'
import { nthId } from '../subscription/given.js'

const text = fc.string({ unit: 'grapheme', maxLength: 8 })
const value = fc.oneof(
  text,
  fc.constantFrom(1.5, null, true),
  fc.array(text, { maxLength: 2 }),
  fc.dictionary(text, text, { maxKeys: 2, noNullPrototype: true }),
)
const metadata = fc.record({ name: text, type: text, value }, { noNullPrototype: true })
const attribute = fc.record(
  {
    name: text,
    instance: text,
    type: text,
    value,
    location: fc.option(text, { nil: undefined }),
    metadata: fc.array(metadata, { maxLength: 2 }),
  },
  { requiredKeys: ['name', 'instance', 'type', 'metadata'], noNullPrototype: true },
)
const via = fc.constantFrom(undefined, '1.1 a, 1.0 b')
const service = fc.constantFrom('farm7', 'barn')
const origin = fc.oneof(
  fc.record({ correlator: text, token: text, service, via, ends: fc.constant(undefined) }, { noNullPrototype: true }),
  fc.record({ correlator: text, token: text, service, ends: fc.constant(true as const) }, { noNullPrototype: true }),
)
const terms = fc.record(
  {
    entity: fc.constantFrom('present' as const, 'absent' as const, 'either' as const),
    typeOfNew: text.map(type),
    overridesMetadata: fc.boolean(),
    forced: fc.boolean(),
    valueOnly: fc.constantFrom('plain' as const, 'forbiddenCharacters' as const, undefined),
  },
  { noNullPrototype: true },
)
const sequence = fc.nat().map((number) => number as Sequence)
const time = fc.nat().map(at)
const where = { tenant: fc.constantFrom(tenant), path: fc.constantFrom('/', '/a').map(path) }
const number = fc.nat()
const deliveryStats: fc.Arbitrary<DeliveryStats> = fc.record(
  {
    sent: number,
    discarded: number,
    tried: fc.array(number, { maxLength: 2 }),
    lastNotification: time,
    lastSuccess: time,
    lastSuccessCode: number,
    lastFailure: time,
    lastFailureReason: text,
    fails: number,
    attempted: time,
  },
  { requiredKeys: ['sent', 'discarded', 'tried', 'fails'], noNullPrototype: true },
)
const ack = fc.record(
  {
    subscription: fc.nat(9).map(nthId),
    gone: fc.array(number, { maxLength: 2 }),
    stats: fc.option(deliveryStats, { nil: undefined }),
  },
  { noNullPrototype: true },
)
const target = fc.record(
  { id: text.map(id), type: fc.option(text.map(type), { nil: undefined }), name: fc.option(text, { nil: undefined }) },
  { noNullPrototype: true },
)
const rawUpdate = fc.record(
  {
    kind: fc.constant('rawUpdate' as const),
    sequence,
    time,
    ...where,
    body: text,
    flags: fc.nat(127),
    target: fc.option(fc.oneof(target, fc.constant('element' as const)), { nil: undefined }),
    origin,
  },
  { noNullPrototype: true },
)
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.constant({ kind: 'ping' } as const),
  fc.record({ kind: fc.constant('ack' as const), acks: fc.array(ack, { maxLength: 2 }) }, { noNullPrototype: true }),
  rawUpdate,
  fc.record(
    {
      kind: fc.constant('update' as const),
      sequence,
      time,
      ...where,
      id: text.map(id),
      type: fc.option(text.map(type), { nil: undefined }),
      action: fc.constantFrom(...updateActions),
      attributes: fc.array(attribute, { maxLength: 3 }),
      autocast: fc.constantFrom(true as const, undefined),
      terms: fc.option(terms, { nil: undefined }),
      origin,
    },
    { noNullPrototype: true },
  ),
)
/** Commands of one request, which share what it says: one as it is, or elements of which a few differ all the same. */
const request: fc.Arbitrary<readonly Command[]> = fc.oneof(
  command.map((only) => [only]),
  fc
    .tuple(rawUpdate, fc.array(fc.tuple(sequence, text, fc.option(fc.nat(3), { nil: undefined })), { maxLength: 4 }))
    .map(([first, elements]) =>
      elements.map(([sequence, body, flags = first.flags]) => ({ ...first, sequence, body, flags })),
    ),
)
const item = { id: id('E'), type: type('T') }
const reply: fc.Arbitrary<Reply> = fc.oneof(
  fc.constantFrom({ kind: 'pong' } as const, { kind: 'acked' } as const),
  fc.constantFrom({ kind: 'failed', why: 'fault' } as const, { kind: 'failed', why: 'storageFull' } as const),
  fc.record(
    {
      kind: fc.constant('rawUpdate' as const),
      accepted: fc.boolean(),
      status: fc.constantFrom(undefined, 200, 204, 422),
      text,
      headers: fc.option(fc.dictionary(text, text, { maxKeys: 2, noNullPrototype: true }), { nil: undefined }),
      missing: fc.option(text, { nil: undefined }),
      spent: fc.record({ parse_ns: fc.nat(), render_ns: fc.nat() }, { noNullPrototype: true }),
    },
    { requiredKeys: ['kind', 'accepted', 'text'], noNullPrototype: true },
  ),
  fc.constant({
    kind: 'updated',
    items: [item],
    missing: [{ ...item, shown: [0], refusal: { kind: 'attributesMissing' } }],
  } as const),
)

/** As it was but for members that are undefined, which mean the same as members that are not there. */
function plain(things: readonly unknown[]): unknown {
  return JSON.parse(JSON.stringify(things))
}

test('a batch of commands arrives as it was sent', async () => {
  fc.assert(
    fc.property(fc.array(request, { maxLength: 6 }), (requests) => {
      const batch = requests.flat()
      assert.deepEqual(plain(decodeCommands(encodeCommands(batch))), plain(batch))
    }),
  )
})

test('a large value is sent as a text of its own, and made when somebody reads it', async (t) => {
  const items = Array.from({ length: 2000 }, (_, at) => at)
  const given = { name: 'a', instance: '', type: '', metadata: [] }
  const update: Command = {
    ...{ kind: 'update', sequence: 1 as Sequence, time: at(1), tenant, path: path('/'), id: id('E'), action: 'APPEND' },
    attributes: [
      { ...given, value: items },
      { ...given, name: 'b', value: { $push: { $each: items } } },
    ],
    origin: { correlator: 'c', token: '' },
  }
  const encoded = encodeCommands([update, update])
  const bodies = [JSON.stringify(items), JSON.stringify({ $push: { $each: items } })]
  t.strictSame(encoded.bodies, [...bodies, ...bodies])
  const decoded = decodeCommands(encoded)
  for (const command of decoded) {
    const [large, operated] = command.kind === 'update' ? command.attributes : []
    t.type(large && valueGiven(large), LargeValue)
    t.strictSame(large?.value, items)
    t.type(operated && valueGiven(operated), LargeValue, 'also an operation')
    t.equal(operated && operatorGiven(operated), '$push')
    t.strictSame(operated?.value, { $push: { $each: items } })
  }
  t.strictSame(plain(decoded), plain([update, update]))
})

test('a value that was written while its request was read is not written again', async (t) => {
  const value = ['is written']
  atOnce(writeInSteps(value))
  value[0] = 'is not written again'
  const update: Command = {
    ...{ kind: 'update', sequence: 1 as Sequence, time: at(1), tenant, path: path('/'), id: id('E'), action: 'APPEND' },
    attributes: [{ name: 'a', instance: '', type: '', metadata: [], value }],
    origin: { correlator: 'c', token: '' },
  }
  t.strictSame(encodeCommands([update]).bodies, ['["is written"]'])
})

test('what elements of one request share is sent once', async (t) => {
  const shared = {
    kind: 'rawUpdate',
    time: at(1),
    tenant,
    path: path('/'),
    flags: 16,
    origin: { correlator: 'corr-1', token: 'secret' },
  } as const
  const batch = [1, 2, 3].map((number) => ({ ...shared, sequence: number as Sequence, body: `{"id":"${number}"}` }))
  const { text } = encodeCommands(batch)
  t.equal(text.split('corr-1').length, 2)
  t.equal(text.split('secret').length, 2)
})

test('the replies to a batch arrive as they were sent', async () => {
  fc.assert(
    fc.property(fc.array(reply, { maxLength: 6 }), (replies) => {
      assert.deepEqual(plain(decodeReplies(encodeReplies(replies))), plain(replies))
    }),
  )
})
