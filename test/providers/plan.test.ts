import fc from 'fast-check'
import { test } from 'tap'
import { ngsi1Format } from '../../src/api/ngsi1/forward/ngsi1-format.js'
import {
  type AskableEntity,
  askableEntities,
  entityKey,
  QueryPlanner,
  type ShownAttribute,
  type ShownEntity,
} from '../../src/broker/providers/query-plan.js'
import { ReceivedEntities } from '../../src/broker/providers/received-entities.js'
import { outcomesOf } from '../../src/broker/providers/remote-update.js'
import { planUpdate } from '../../src/broker/providers/update-plan.js'
import type { EntityId, EntityType, Metadata, ServicePath, Tenant, Value } from '../../src/model/context/entity.js'
import { maxAttributes, maxMetadata, maxValues } from '../../src/model/context/entity-size.js'
import type { Selector } from '../../src/model/context/query.js'
import type { GivenAttribute } from '../../src/model/context/update.js'
import type { RegistrationId } from '../../src/model/registration/registration.js'
import { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import { SourceSearch } from '../../src/model/registration/sources.js'
import { err, ok } from '../../src/result.js'
import { atOnce } from '../../src/slices.js'
import type { Milliseconds } from '../../src/time.js'
import { staysWithin } from '../pace.js'

const tenant = '' as Tenant
const paths = [{ path: '/' as ServicePath, below: true }]
const lookup = { tenant, paths, now: 0 as Milliseconds, use: 'update', api: 'ngsi1' } as const

interface Source {
  readonly id: string
  readonly type: string
  readonly attributes: readonly string[]
  readonly provider: string
}

function indexOf(sources: readonly Source[]): RegistrationIndex {
  const index = new RegistrationIndex()
  for (const [order, { id, type, attributes, provider }] of sources.entries()) {
    index.put({
      ...{ id: `${order}` as RegistrationId, order, tenant, path: '/' as ServicePath, expires: 1 as Milliseconds },
      contexts: [
        {
          entities: [{ id: id as EntityId, type: type as EntityType }],
          attributes: attributes.map((name) => ({ name, type: '', isDomain: false })),
          provider,
        },
      ],
    })
  }
  return index
}

function given(name: string): GivenAttribute {
  return { name, instance: '', type: '', value: '1', metadata: [] }
}

const name = fc.constantFrom<string>('a', 'b', 'c')
const names = fc.uniqueArray(name, { minLength: 1 })
const id = fc.constantFrom('X', 'XY', 'Y')
const type = fc.constantFrom('', 'Y', 'T')
const provider = fc.constantFrom('p', 'q')
const source = fc.record({ id, type, provider, attributes: fc.uniqueArray(name) })

test('every attribute that is lacking goes to one provider, the one that is registered for it, or to none', async () => {
  const lack = fc.record({ id, types: fc.uniqueArray(type, { minLength: 1 }), attributes: names })
  fc.assert(
    fc.property(fc.array(source), fc.array(lack), (sources, lacks) => {
      const index = indexOf(sources)
      const lacking = lacks.map(({ id, types, attributes }) => ({
        ...{ id: id as EntityId, types: types.map((one) => one as EntityType) },
        attributes: attributes.map(given),
      }))
      const { forwards, sharings } = atOnce(planUpdate(index, lookup, lacking))
      const providers = forwards.map(({ provider }) => provider)
      if (new Set(providers).size !== providers.length) return false
      const sent = new Map(
        forwards.flatMap(({ provider, shares }) => shares.map((share) => [share, provider] as const)),
      )
      return lacking.every(({ id, types, attributes }, at) => {
        const { shares = [], unfound = [] } = sharings[at] ?? {}
        return attributes.every((attribute) => {
          const holding = shares.filter((share) => share.attributes.includes(attribute))
          const search = new SourceSearch(index, lookup)
          const [first] = types.flatMap((type) => atOnce(search.of({ id, type }).having(attribute.name)) ?? [])
          if (first === undefined) return holding.length === 0 && unfound.includes(attribute)
          const [only] = holding
          if (only === undefined || holding.length > 1 || unfound.includes(attribute)) return false
          return sent.get(only) === first.context.provider && only.id === id
        })
      })
    }),
  )
})

/** The entities that may be asked for. */
function askable(index: RegistrationIndex, selectors: readonly Selector[]): readonly AskableEntity[] {
  const found = atOnce(askableEntities(index, lookup, selectors))
  return found.ok ? [...found.value] : []
}

test('several ids may mean twenty thousand entities by the types of every id, one id all of them', async (t) => {
  const index = new RegistrationIndex()
  const every = (types: number) =>
    Array.from({ length: types }, (_, at) => ({
      id: '.*' as EntityId,
      type: `T${at}` as EntityType,
      everyId: true as const,
    }))
  const put = (order: number, types: number) =>
    index.put({
      ...{ id: `${order}` as RegistrationId, order, tenant, path: '/' as ServicePath, expires: 1 as Milliseconds },
      contexts: [{ entities: every(types), attributes: [], provider: 'p' }],
    })
  const ids = (count: number): readonly Selector[] =>
    Array.from({ length: count }, (_, at) => ({ id: { kind: 'exact', id: `X${at}` as EntityId }, type: undefined }))
  put(1, 5000)
  t.equal(askable(index, ids(4)).length, 20_000)
  t.same(atOnce(askableEntities(index, lookup, ids(5))), err({ kind: 'typesTooMany' }))
  const typed = ids(1000).map((each) => ({ ...each, type: 'T7' as EntityType }))
  t.equal(askable(index, typed).length, 1000, 'with a type, each is one')
  put(1, 30_000)
  t.equal(askable(index, ids(1)).length, 30_000)
  t.equal(askable(index, [{ id: { kind: 'any' }, type: undefined }, ...ids(0)]).length, 30_000)
})

test('nothing that is held is asked for, and each provider is asked once about an entity', async () => {
  fc.assert(
    fc.property(fc.array(source), fc.uniqueArray(name), fc.uniqueArray(name), (sources, request, held) => {
      const index = indexOf(sources)
      const selectors = [{ id: { kind: 'any' }, type: undefined }] as const
      return askable(index, selectors).every((entity) => {
        const planner = new QueryPlanner(index, lookup, request, 1000)
        const forwards = atOnce(planner.forwardsOf(entity, (one) => held.includes(one)))
        const providers = new Set(forwards.map(({ provider }) => provider))
        const wanted = (one: string) => !held.includes(one) && (request.length === 0 || request.includes(one))
        return providers.size === forwards.length && forwards.every(({ attributes }) => attributes.every(wanted))
      })
    }),
  )
})

const shown = fc.record({
  id: id.map((one) => one as EntityId),
  type: type.map((one) => one as EntityType),
  attributes: fc.uniqueArray(
    fc.record({ name, instance: fc.constantFrom('', 'i'), value: fc.nat() }).map((one) => ({
      ...{ ...one, type: '', isLocation: false, metadata: [] },
    })),
    { selector: ({ name, instance }) => `${name} ${instance}` },
  ),
})

/** What is shown of entities that are held here and of elements that were received. */
function merged(held: readonly ShownEntity[], received: readonly ShownEntity[]): readonly ShownEntity[] {
  const entities = new ReceivedEntities()
  for (const element of received) entities.add(element)
  return atOnce(entities.behind(held))
}

test('merging keeps what is held as it is and in its order, and adds every entity and instance once', async () => {
  const element = fc.array(shown)
  fc.assert(
    fc.property(element, element, (held, received) => {
      const shown = merged(held, received)
      const keptHeld = held.every(({ attributes, ...entity }, at) => {
        const { attributes: after = [], ...same } = shown[at] ?? ({} as Partial<ShownEntity>)
        return (
          entityKey({ id: '', type: '', ...same }) === entityKey(entity) && attributes.every((a, i) => a === after[i])
        )
      })
      const added = shown.slice(held.length)
      const keys = new Set([...held, ...added].map(entityKey))
      const addedOnce = keys.size === new Set(held.map(entityKey)).size + added.length
      const instancesOnce = shown.every(({ attributes }) => {
        const all = attributes.map(({ name, instance }) => `${name} ${instance}`)
        return new Set(all).size === all.length
      })
      return keptHeld && addedOnce && instancesOnce && received.every((one) => keys.has(entityKey(one)))
    }),
  )
})

test('exact selectors name registered entities of their type alone, in the order of the selectors', async (t) => {
  const one = { attributes: [], provider: 'p' }
  const index = indexOf([
    { ...one, id: 'X', type: 'T' },
    { ...one, id: 'Y', type: 'T' },
    { ...one, id: 'X', type: '' },
  ])
  const exact = (id: string, type?: string) => ({
    id: { kind: 'exact', id: id as EntityId } as const,
    type: type as EntityType | undefined,
  })
  const keys = (...selectors: readonly ReturnType<typeof exact>[]) =>
    askable(index, selectors).map(({ id, type }) => `${id}:${type}`)
  t.same(keys(exact('Y', 'T'), exact('X', 'T'), exact('Y')), ['Y:T', 'X:T'])
  t.same(keys(exact('X')), ['X:T', 'X:'])
  t.same(keys(exact('Z'), exact('Y', 'U')), [])
})

const about = { id: 'X' as EntityId, type: 'T' as EntityType }

function attribute(at: number, value: Value = '1', metadata: readonly Metadata[] = []): ShownAttribute {
  return { name: `a${at}`, type: '', value, metadata, instance: '', isLocation: false }
}

test('a response of a hundred thousand elements about one entity is merged in the time that it takes to look at them', async (t) => {
  const received = Array.from({ length: 100_000 }, (_, at) => ({
    ...about,
    attributes: [attribute(at % maxAttributes)],
  }))
  const isLinear = await staysWithin(5000, () => {
    const shown = merged([{ ...about, attributes: [attribute(0)] }], received)
    t.equal(shown.length, 1)
    t.equal(shown[0]?.attributes.length, maxAttributes)
  })
  t.ok(isLinear, 'copying for every element takes far longer')
})

for (const [of, parts] of [
  ['attributes', [maxAttributes, 1].map((count) => Array.from({ length: count }, (_, at) => attribute(at + count)))],
  ['metadata', [1, 2].map((at) => [attribute(at, '1', metadata(maxMetadata / 2 + at))])],
  ['values', [1, 2].map((at) => [attribute(at, Array(maxValues / 2 + at).fill(1))])],
  ['values of metadata', [1, 2].map((at) => [attribute(at, '1', metadata(1, Array(maxValues / 2 + at).fill(1)))])],
] as const) {
  test(`an entity that comes in several elements has no more ${of} than one may have here`, async (t) => {
    const entities = new ReceivedEntities()
    t.same(
      parts.map((attributes) => entities.add({ ...about, attributes })),
      [true, false],
    )
    t.ok(entities.add({ ...about, attributes: parts[0] ?? [] }), 'what is there already takes no room')
    t.same(atOnce(entities.behind([])), [{ ...about, attributes: parts[0] }])
  })
}

test('an entity of which nothing is taken is not there', (t) => {
  const entities = new ReceivedEntities()
  const attributes = Array.from({ length: maxAttributes + 1 }, (_, at) => attribute(at))
  t.notOk(entities.add({ ...about, attributes }))
  t.same(atOnce(entities.behind([])), [])
  t.end()
})

function metadata(count: number, value: Value = ''): readonly Metadata[] {
  return Array.from({ length: count }, (_, at) => ({ name: `m${at}`, type: '', value }))
}

test('of a long response others wait only for one element, when it is merged and when its outcomes are read', (t) => {
  const count = 1000
  const ids = Array.from({ length: count }, (_, at) => `E${at}` as EntityId)
  const entities = new ReceivedEntities()
  for (const id of ids) entities.add({ ...about, id, attributes: [] })
  t.equal([...entities.behind([])].length, count)
  const forward = { provider: 'p', registration: 'r' as RegistrationId, form: 'ngsi1', shares: [] } as const
  const elements = ids.map((id) => ({ ...about, id, attributes: [], status: { code: '200', reasonPhrase: 'OK' } }))
  t.equal([...outcomesOf([{ forward, response: ok({ elements, status: undefined }) }])].length, count)
  const body = JSON.stringify({ contextResponses: ids.map((id) => ({ contextElement: { id } })) })
  const pauses = [...ngsi1Format.readUpdate({ status: 200, totalCount: undefined, body })].length
  t.ok(pauses >= 2 * count, 'each element is read, and then brought into the form of an outcome')
  t.end()
})
