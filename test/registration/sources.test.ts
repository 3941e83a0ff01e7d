import { test } from 'tap'
import { registeredEntities } from '../../src/model/registration/registered-entities.js'
import type { Registration, RegistrationTerms } from '../../src/model/registration/registration.js'
import type { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import { isRegistered, type SourceLookup, SourceSearch, sourcesOf } from '../../src/model/registration/sources.js'
import { atOnce } from '../../src/slices.js'
import { at, everywhere, id, path, tenant } from '../given.js'
import { staysWithin } from '../pace.js'
import {
  any,
  context,
  exact,
  indexOf,
  naming,
  pattern,
  providerOf,
  registered,
  registration,
  sources,
  termed,
} from './given.js'

const query: SourceLookup = { tenant, paths: everywhere, now: at(0), use: 'query', api: 'ngsi2' }
const update: SourceLookup = { ...query, use: 'update' }
const ofNgsi1: SourceLookup = { ...query, api: 'ngsi1' }
const s4 = registered('S4:Street')

/** A registration of NGSIv2 of one context, whose provider is named after its place. */
function made(order: number, entities: string, attributes = '', terms: Partial<RegistrationTerms> = {}): Registration {
  return registration(order, [context(entities, attributes, `p${order}`)], { terms: termed(terms) })
}

function askable(index: RegistrationIndex, lookup: SourceLookup, selector: ReturnType<typeof any>) {
  return atOnce(registeredEntities(index, lookup, selector))
}

test('the first that names the attribute goes before the first of the whole entity, whatever came between', async (t) => {
  const index = indexOf(
    made(1, 'S4:Street'),
    made(2, 'S4:Street'),
    made(3, '*:Street', 'noise'),
    made(4, 'S4', 'noise'),
  )
  t.equal(providerOf(index, query, s4, 'noise'), 'p3')
  t.equal(providerOf(index, query, s4, 'ozone'), 'p1', 'the first of those without attributes, not the last')
  t.equal(providerOf(index, query, registered('S5:Street'), 'noise'), 'p3')
  t.equal(providerOf(index, query, registered('S5:Street'), 'ozone'), undefined)
  t.equal(providerOf(index, query, registered('S5:Alley'), 'noise'), undefined)
})

test('a registration names an entity by its id or by every id, with its type or without one', async (t) => {
  const index = indexOf(made(1, 'S4:Street', 'a'), made(2, 'S4', 'b'), made(3, '*:Street', 'c'), made(4, '*', 'd'))
  const named = (text: string) => naming(index, query, registered(text)).map(({ provider }) => provider)
  t.same(named('S4:Street'), ['p1', 'p2', 'p3', 'p4'])
  t.same(named('S4:Alley'), ['p2', 'p4'])
  t.same(named('S9:Street'), ['p3', 'p4'])
  t.same(named('S4'), ['p2', 'p4'], 'an entity without type by those without type')
  t.same(named('*:Street'), ['p3', 'p4'], 'what stands for every id by those of every id')
})

test('a source tells how the entity is registered, in the way that says most', async (t) => {
  const index = indexOf(made(1, '*:Street S4:Street S4'), made(2, 'S4'))
  t.same(
    sources(index, query, s4).map(({ named }) => named),
    [s4, registered('S4')],
  )
  t.same(sources(index, query, registered('S9:Street'))[0]?.named, registered('*:Street'))
})

test('the mode decides for which requests a provider is asked', async (t) => {
  const index = indexOf(
    made(1, 'S4:Street', 'none', { mode: 'none' }),
    made(2, 'S4:Street', 'query', { mode: 'query' }),
    made(3, 'S4:Street', 'update', { mode: 'update' }),
    made(4, 'S4:Street', 'all', { mode: 'all' }),
  )
  const request = (lookup: SourceLookup) =>
    ['none', 'query', 'update', 'all'].filter((name) => providerOf(index, lookup, s4, name) !== undefined)
  t.same(request(query), ['query', 'all'])
  t.same(request(update), ['update', 'all'])
  t.same(request(ofNgsi1), ['query', 'all'], 'requests of NGSIv1 too')
})

test('inactive and expired registrations, and those of other paths, are not asked', async (t) => {
  const elsewhere = { ...made(3, 'S4:Street', 'c'), path: path('/a') }
  const expired = { ...made(2, 'S4:Street', 'b'), expires: at(0) }
  const index = indexOf(made(1, 'S4:Street', 'a', { status: 'inactive' }), expired, elsewhere)
  const here = { ...query, paths: [{ path: path('/'), below: false }] }
  for (const name of ['a', 'b', 'c']) t.equal(providerOf(index, here, s4, name), undefined, name)
  t.same(naming(index, here, s4), [])
  t.same(askable(index, here, any()), [])
  t.equal(isRegistered(index, here, id('S4')), false)
  t.equal(isRegistered(index, query, id('S4')), true, 'in every path')
})

test('whether anybody may be asked for an id depends on the kind of request, and every id may be meant', async (t) => {
  const index = indexOf(made(1, 'S4:Street', '', { mode: 'query' }), made(2, 'S5:Street', '', { mode: 'update' }))
  t.equal(isRegistered(index, update, id('S4')), false)
  t.equal(isRegistered(index, update, id('S5')), true)
  t.equal(isRegistered(index, query, id('S5')), false)
  index.put(made(3, '*:Street'))
  t.equal(isRegistered(index, update, id('S4')), true)
  t.equal(isRegistered(index, update, id('')), false, 'the empty id is none')
})

test('without type a registration of NGSIv1 names for requests of NGSIv1 only what has no type either', async (t) => {
  const index = indexOf(registration(1, [context('S4', 'noise', 'v1')]), made(2, 'S5', 'noise'))
  t.equal(providerOf(index, ofNgsi1, s4, 'noise'), undefined)
  t.equal(providerOf(index, ofNgsi1, registered('S4'), 'noise'), 'v1')
  t.equal(providerOf(index, query, s4, 'noise'), 'v1')
  t.equal(providerOf(index, ofNgsi1, registered('S5:Street'), 'noise'), 'p2', 'one of NGSIv2 names every type')
  t.same(askable(index, ofNgsi1, pattern('^S', 'Street')), [registered('S5:Street')])
  t.same(askable(index, query, pattern('^S', 'Street')), [registered('S4:Street'), registered('S5:Street')])
})

test('an id that every id stands for is asked for by itself, of each type that is registered', async (t) => {
  const index = indexOf(made(1, '*:Street', 'noise'), made(2, 'S4:Alley', 'noise'), made(3, '*', 'noise'))
  t.same(askable(index, query, exact('S4', 'Street')), [registered('S4:Street')])
  t.same(askable(index, query, exact('S4')), [registered('S4:Street'), registered('S4:Alley'), registered('S4')])
})

test('an attribute that no usable registration has is not looked for among all others that name the entity', async (t) => {
  const one = Array.from({ length: 5000 }, () => context('S4:Street'))
  const elsewhere = Array.from({ length: 10 }, (_, order) => registration(order, one, { path: path('/a') }))
  const single = Array.from({ length: 20_000 }, (_, at) =>
    registration(at + 10, [context('S4:Street')], { path: path('/a') }),
  )
  const index = indexOf(...elsewhere, ...single, made(30_000, 'S4:Street', 'noise'))
  const here = { ...update, paths: [{ path: path('/'), below: false }] }
  const isLinear = await staysWithin(1000, () => {
    const search = new SourceSearch(index, here)
    for (let at = 0; at < 5000; at += 1) {
      // Of one entity, and of one that the request names again.
      const sources = [search.of(s4), search.of(s4)]
      for (const each of sources) if (atOnce(each.having(`${at}`)) !== undefined) t.fail('it has a source')
    }
    t.equal(atOnce(search.of(s4).having('noise'))?.context.provider, 'p30000')
  })
  t.ok(isLinear)
})

test('registrations that come and go during a search do not hide one that stays', async (t) => {
  const past = { expires: at(0) }
  const index = indexOf(
    ...Array.from({ length: 1000 }, (_, order) => registration(order, [context('S4:Street')], past)),
    made(1000, 'S4:Street'),
  )
  const search = new SourceSearch(index, query).of(s4).having('noise')
  t.equal(search.next().done, false, 'it pauses')
  for (let order = 0; order < 500; order += 1) index.remove(registration(order, []).id)
  index.put(registration(0, [context('S4:Street'), context('S4:Street')], past))
  t.equal(atOnce(search)?.context.provider, 'p1000')
  t.equal([...sourcesOf(index, query, s4)].flatMap((source) => source ?? []).length, 1)
})

test('a pattern means what it is found in, and what stands for every id', async (t) => {
  const index = indexOf(made(1, 'S4:Street S5:Street', 'noise'), made(2, '*:Street *:Alley', 'noise'), made(3, '*'))
  t.same(askable(index, query, pattern('4$', 'Street')), [registered('S4:Street'), registered('*:Street')])
  t.same(askable(index, query, pattern('x')), [registered('*:Street'), registered('*:Alley'), registered('*')])
  const ofAlley = { id: { kind: 'any' }, type: undefined, typePattern: '^All' } as const
  t.same(askable(index, query, ofAlley), [registered('*:Alley'), registered('*')], 'and any type where none is said')
})
