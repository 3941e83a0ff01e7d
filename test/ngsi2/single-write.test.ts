import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { rawBatchInterpreter } from '../../src/api/ngsi2/raw-batch.js'
import { ngsi2Interface } from '../../src/api/ngsi2/routes.js'
import { decodeWrite, encodeWrite, rawWriteInterpreter, writeOperations } from '../../src/api/ngsi2/single-write.js'
import type { Broker } from '../../src/broker/front-end/broker.js'
import { rawId } from '../../src/broker/front-end/raw-replies.js'
import type { ApiResponse, Verb } from '../../src/broker/operations/api.js'
import { applyUpdate } from '../../src/model/context/apply.js'
import type { Entity, EntityId, Tenant } from '../../src/model/context/entity.js'
import { type UpdateElement, type UpdateReply, updateActions } from '../../src/model/context/update.js'
import { decodeReplies, encodeReplies } from '../../src/partition/turn/encoding.js'
import { err, ok, type Result } from '../../src/result.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../src/time.js'
import { waiting } from '../given.js'
import { scripted } from '../ngsi1/given.js'
import { meetings, runs } from '../runs.js'
import { usualEntity } from './given-batches.js'

const interpret = rawWriteInterpreter(() => false)
const interpretElement = rawBatchInterpreter(() => false)

/** A broker on a list in memory. */
function memory(): {
  readonly broker: Broker
  readonly held: () => readonly Entity[]
  readonly raw: () => number
  readonly rawBatches: () => number
} {
  let held: readonly Entity[] = []
  let sequence = 0
  let raw = 0
  let rawBatches = 0
  const apply = (element: UpdateElement): UpdateReply => {
    sequence += 1
    const own = held.filter(({ id, path }) => id === element.id && path === element.path)
    const time = sequence as Milliseconds
    const decision = applyUpdate(own, { ...element, kind: 'update', sequence: sequence as Sequence, time })
    for (const effect of decision.effects) {
      const rest = held.filter((entity) => entity.sequence !== effect.entity.sequence)
      held = effect.kind === 'put' ? [...rest, effect.entity] : rest
    }
    return decision.reply
  }
  const broker = scripted({
    update: async (elements) => ok(elements.map(apply)),
    rawUpdate: async ({ id, ...update }) => {
      raw += 1
      const time = 1 as Milliseconds
      const read = interpret({ kind: 'rawUpdate', sequence: 1 as Sequence, time, ...update })
      if (read.kind === 'update') assert.equal(read.element.id, id)
      const reply = read.kind === 'reply' ? read.reply : read.render(apply(read.element))
      const [decoded] = decodeReplies(encodeReplies([reply]))
      assert(decoded?.kind === 'rawUpdate')
      return ok(decoded)
    },
    rawElements: async ({ elements, ...update }) => {
      rawBatches += 1
      const replies = elements.map(({ id, text }) => {
        const head = { kind: 'rawUpdate', sequence: 1 as Sequence, time: 1 as Milliseconds } as const
        const read = interpretElement({ ...head, ...update, body: text })
        assert(read.kind === 'update')
        assert.equal(read.element.id, id)
        assert.equal(rawId(text), id)
        return read.render(apply(read.element))
      })
      return ok(decodeReplies(encodeReplies(replies)).filter((reply) => reply.kind === 'rawUpdate'))
    },
  })
  return { broker, held: () => held, raw: () => raw, rawBatches: () => rawBatches }
}

interface Sent {
  readonly verb: Verb
  readonly pattern: string
  readonly parameters: Readonly<Record<string, string | undefined>>
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

const options = { multiservice: true, queryTimeout_ms: 30_000 }
const deprecated = { note: () => undefined }

/** What a request is answered; an error when its payload is refused, so that it does not count. */
async function responseTo(broker: Broker, sent: Sent): Promise<Result<ApiResponse, ApiResponse>> {
  const { resources, parseServicePaths } = ngsi2Interface({ broker, options, deprecated })
  const operation = resources.find(({ pattern }) => pattern === sent.pattern)?.operations[sent.verb]
  if (operation === undefined) throw new Error(`there is no ${sent.verb} ${sent.pattern}`)
  const paths = parseServicePaths(sent.headers['fiware-servicepath'], sent.verb)
  if (!paths.ok) return paths
  const prepared = await operation.prepare({
    verb: sent.verb,
    segments: { id: 'Vat1', name: sent.parameters['name'] ?? 'heat' },
    parameters: parametersOf(sent),
    headers: sent.headers,
    paths: paths.value,
    body: sent.body,
    correlator: 'c',
    client: waiting,
  })
  if (!prepared.ok) return err(plain(prepared.error))
  const work = prepared.value
  if (typeof work !== 'object') return ok(plain(await work()))
  const outcome = await work.run()
  return outcome.ok ? ok(plain(outcome.value)) : err(plain(outcome.error))
}

function parametersOf({ parameters: { options, type } }: Sent): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  if (options !== undefined) given.set('options', options)
  return type === undefined ? given : given.set('type', type)
}

function plain({ body, ...response }: ApiResponse): ApiResponse {
  return body === undefined ? response : { ...response, body: typeof body === 'function' ? body() : body }
}

/** The same payload, which the front end reads: it is long, and has an escape where it is a batch, which is then not scanned. */
function readHere(body: string): string {
  return body.replace('"entities"', '"entitie\\u0073"') + ' '.repeat(64 * 1024 + 1)
}

/** One of these, and now and then one of those that are wrong, or wrong beside others. */
function mostly<Good, Bad>(good: readonly Good[], bad: readonly Bad[]): fc.Arbitrary<Good | Bad> {
  const right = { weight: 9 * good.length, arbitrary: fc.constantFrom(...good) }
  return fc.oneof(right, { weight: bad.length, arbitrary: fc.constantFrom(...bad) })
}

const value = mostly<unknown, unknown>(
  [1, 'warm', null, true, [1, 'a'], { k: 1 }],
  ['<', { id: 1 }, { $inc: 2 }, 'a"b'],
)
const type = mostly<unknown, unknown>(
  ['Number', 'Text', 'TextUnrestricted'],
  ['DateTime', 'geo:point', 'geo:json', 7, '', 'a b'],
)
const metadata = mostly<unknown, unknown>([{ unit: { value: 'C' } }, { ID: { value: 'x' } }, {}], [5, { 'a b': {} }])
const entityType = mostly<unknown, unknown>(['Vat'], ['Thing', 'a b'])
const attribute = fc.oneof(
  { weight: 20, arbitrary: fc.record({ value, type, metadata }, { requiredKeys: [] }) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(5, 'text', { values: 1 }, null) },
)
const name = mostly(['heat', 'lid', '9'], ['dateExpires', 'id', 'type', 'a b', ''])
const attributes = fc.dictionary(name, attribute, { minKeys: 1, maxKeys: 3, noNullPrototype: true })
const identity = fc.record(
  { id: mostly<unknown, unknown>(['Vat1', 'Vat2'], ['a b', '', 7, 'x'.repeat(256)]), type: entityType },
  { requiredKeys: ['id'] },
)
const entity = fc.tuple(identity, attributes).map(([own, rest]) => ({ ...rest, ...own }))
const actionType = mostly(['append', 'appendStrict', 'update', 'replace', 'delete'], ['burn'])
const batch = fc.record({
  actionType,
  entities: fc.oneof(
    { weight: 6, arbitrary: fc.tuple(entity) },
    { weight: 1, arbitrary: fc.array(entity, { maxLength: 2 }) },
  ),
})
const manyEntities = fc.record({ actionType, entities: fc.array(usualEntity, { minLength: 2, maxLength: 4 }) })
const written = (payload: fc.Arbitrary<unknown>) =>
  fc.oneof(
    { weight: 20, arbitrary: payload.map((json) => JSON.stringify(json)) },
    { weight: 1, arbitrary: fc.constantFrom('', '{', '[]', '"x"', '{"x":1e999}', '{"id":"Vat1","a":{},"a":{}}') },
  )

const parameters = fc.record(
  {
    options: fc.constantFrom(undefined, undefined, 'keyValues', 'upsert', 'append', 'overrideMetadata', 'forcedUpdate'),
    type: fc.constantFrom(undefined, undefined, 'Vat', 'Thing'),
    name: mostly(['heat', 'lid'], ['a b', '']),
  },
  { noNullPrototype: true },
)
const headers = fc.record(
  {
    'fiware-service': mostly([undefined], ['plant', 'no tenant']),
    'fiware-servicepath': mostly([undefined], [`/${Array(10).fill('p'.repeat(50)).join('/')}`, '/a,/b', '/a/#', '/b']),
  },
  { noNullPrototype: true },
)

const operations: readonly (readonly [verb: Verb, pattern: string, body: fc.Arbitrary<string>])[] = [
  ['POST', '/v2/entities', written(entity)],
  ['POST', '/v2/op/update', written(batch)],
  ['POST', '/v2/op/update', written(manyEntities)],
  ['POST', '/v2/entities/{id}/attrs', written(attributes)],
  ['PATCH', '/v2/entities/{id}/attrs', written(attributes)],
  ['PUT', '/v2/entities/{id}/attrs', written(attributes)],
  ['PUT', '/v2/entities/{id}/attrs/{name}', written(attribute)],
  ['PUT', '/v2/entities/{id}/attrs/{name}/value', written(value)],
]
const sent = fc.oneof(
  ...operations.map(([verb, pattern, body]) =>
    fc.record({ verb: fc.constant(verb), pattern: fc.constant(pattern), parameters, headers, body }),
  ),
)

const first: Sent = {
  ...{ verb: 'POST', pattern: '/v2/entities', parameters: {}, headers: {} },
  body: '{"id":"Vat1","type":"Vat","heat":{"value":1},"lid":{"value":"open"}}',
}

test('a raw write does and answers what the same request does that the front end reads', async () => {
  let done = 0
  let batches = 0
  await fc.assert(
    fc.asyncProperty(fc.array(sent, { minLength: 1, maxLength: 12 }), async (requests) => {
      const [raw, read] = [memory(), memory()]
      for (const request of [first, ...requests]) {
        const response = await responseTo(raw.broker, request)
        assert.deepEqual(response, await responseTo(read.broker, { ...request, body: readHere(request.body) }))
        if (response.ok && response.value.status < 300) done += 1
      }
      assert.deepEqual(raw.held(), read.held())
      assert.equal(read.raw() + read.rawBatches(), 0)
      batches += raw.rawBatches()
    }),
    { numRuns: runs(400) },
  )
  assert(done > meetings(400), `${done} of them were carried out`)
  assert(batches > meetings(40), `${batches} batches went to their partitions by entities`)
})

test('nearly every write of one entity is read by its partition', async () => {
  const { broker, raw } = memory()
  const body = JSON.stringify({ heat: { value: 1 } })
  const vat = JSON.stringify({ id: 'Vat1', heat: { value: 1, metadata: { unit: { value: 'C' } } } })
  const one = `{"actionType":"append","entities":[${vat}]}`
  const bodies = [vat, one, one, body, body, body, '{"value":2}', '{"k":2}']
  for (const [at, [verb, pattern]] of operations.entries()) {
    const response = await responseTo(broker, { verb, pattern, parameters: {}, headers: {}, body: bodies[at] ?? '' })
    assert(response.ok && response.value.status < 300, `${verb} ${pattern}: ${JSON.stringify(response)}`)
  }
  assert.equal(raw(), operations.length)
})

test('plain text is read as such by the partition, too', async (t) => {
  const { broker, held } = memory()
  const headers = { 'content-type': 'text/plain; charset=utf-8' }
  const put = { verb: 'PUT', pattern: '/v2/entities/{id}/attrs/{name}/value', parameters: {}, headers } as const
  const created = { ...put, verb: 'POST', pattern: '/v2/entities', body: '{"id":"Vat1","heat":{"value":1}}' } as const
  t.match(await responseTo(broker, created), { ok: true, value: { status: 201, headers: { Location: /Vat1/ } } })
  t.same(await responseTo(broker, { ...put, body: '"hot"' }), ok({ status: 204 }))
  t.match(held(), [{ attributes: [{ value: 'hot' }] }])
  t.match(await responseTo(broker, { ...put, body: 'hot' }), { ok: false, error: { status: 400 } })
})

test('what a write says beside its payload is a number and comes back', async () => {
  const write = fc.record({
    operation: fc.constantFrom(...writeOperations),
    action: fc.constantFrom(...updateActions),
    form: fc.constantFrom('normalized' as const, 'keyValues' as const),
    overridesMetadata: fc.boolean(),
    forced: fc.boolean(),
    isUpsert: fc.boolean(),
    isText: fc.boolean(),
  })
  const target = { id: 'Vat1' as EntityId }
  fc.assert(
    fc.property(write, (given) => assert.deepEqual(decodeWrite(encodeWrite(given), target), { ...given, target })),
  )
})

test('a raw write is read and answered on the clock only while stages are timed', async (t) => {
  let timed = false
  const timing = rawWriteInterpreter(() => timed)
  const target = { id: 'Vat1' as EntityId }
  const flags = encodeWrite({
    ...{ operation: 'attributes', action: 'UPDATE', form: 'normalized', overridesMetadata: false, forced: false },
    ...{ isUpsert: false, isText: false },
  })
  const origin = { correlator: 'c', token: '' }
  const head = { kind: 'rawUpdate', sequence: 1 as Sequence, time: 1 as Milliseconds, flags, target, origin } as const
  const spent = (body: string) => {
    const read = timing({ ...head, tenant: '' as Tenant, path: '/' as Entity['path'], body })
    if (read.kind === 'reply') return read.reply.spent
    return read.render({ items: [{ id: target.id, type: '' as Entity['type'] }], missing: [] }).spent
  }
  t.equal(spent('{"heat":{"value":1}}'), undefined)
  timed = true
  for (const body of ['{"heat":{"value":1}}', '{']) {
    const { parse_ns = 0, render_ns = 0 } = spent(body) ?? {}
    t.ok(parse_ns > 0 && render_ns > 0)
  }
})
