import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { test } from 'tap'
import { Application } from '../../src/http/application.js'
import { segmentsOf, type Target } from '../../src/http/target.js'
import { runs } from '../runs.js'

const resource = (pattern: string, anyCase = true) => ({ pattern, anyCase, operations: {} })

/** An application with these resources: gives the target of a path, from Hono and, asked again, from the fast path. */
function givenRoutes(...resources: readonly ReturnType<typeof resource>[]): (path: string) => Target {
  const targets: Target[] = []
  const application = new Application(resources, (_incoming, _outgoing, target) => targets.push(target))
  return (path) => {
    const incoming = new IncomingMessage(new Socket())
    incoming.url = path
    targets.length = 0
    for (const _ of ['from Hono', 'remembered']) application.route(incoming, undefined)
    const [first, second, ...others] = targets
    if (first === undefined || second === undefined || others.length > 0) throw new Error('each is passed on at once')
    if (JSON.stringify(first) !== JSON.stringify(second)) throw new Error('both are the same')
    return first
  }
}

test('a fixed segment wins over a placeholder, which is tried when the fixed one leads nowhere', async (t) => {
  const target = givenRoutes(
    resource('/v1/contextEntities/{id}'),
    resource('/v1/contextEntities/{id}/attributes'),
    resource('/v1/contextEntities/type/{type}/id/{id}'),
  )
  const find = (path: string) => {
    const { route } = target(path)
    return route && [route.resource.pattern, { ...route.segments }]
  }
  t.same(find('/V1/ContextEntities/TYPE/Pump/id/P4/?limit=1'), [
    '/v1/contextEntities/type/{type}/id/{id}',
    { type: 'Pump', id: 'P4' },
  ])
  t.same(find('/v1/contextEntities/type/attributes'), ['/v1/contextEntities/{id}/attributes', { id: 'type' }])
  t.same(find('/v1/%63ontextEntities/:at2'), ['/v1/contextEntities/{id}', { id: ':at2' }])
  for (const unknown of ['/v1/contextEntities//attributes', '/v1/contextEntities/P4//', '/', '//', '', '*', 'v1']) {
    t.equal(find(unknown), undefined, unknown)
  }
})

test('case matters where it is said', async (t) => {
  const target = givenRoutes(resource('/log/trace/{levels}', false))
  t.same(target('/log/trace/1-3').route?.segments, { levels: '1-3' })
  t.equal(target('/Log/trace/1-3').route, undefined)
  t.throws(() => givenRoutes(resource('/a/{x}'), resource('/a/{y}')), 'one path for two resources')
  t.throws(() => givenRoutes(resource('/a/x'), resource('/a/y', false)), 'the first segment says whether case matters')
})

test('a path is split before it is decoded, and what can not be decoded is not clean', async (t) => {
  const target = givenRoutes(resource('/v1/e/{id}'), resource('/v1/e/{id}/x'))
  t.equal(target('/v1/e/a%2Fb').route?.segments['id'], 'a/b')
  t.equal(target('/v1/e/a%2fx').route?.segments['id'], 'a/x')
  t.equal(target('/v1/e/a%252Fx').route?.segments['id'], 'a%2Fx')
  t.equal(target('/v1%2Fe/a').route, undefined)
  for (const unclean of ['/v1/e/%E0', '/v1/e/%3C']) t.match(target(unclean), { clean: false, route: undefined })
})

test('any id that may stand in a path comes back decoded', async () => {
  const target = givenRoutes(resource('/v1/e/{id}'))
  const id = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !/[<>"'=;()]/.test(text))
  fc.assert(fc.property(id, (text) => target(`/v1/e/${encodeURIComponent(text)}`).route?.segments['id'] === text))
})

test('whatever the resources and the order in which they come, the first fixed segment decides', async () => {
  const segment = fc.constantFrom('a', 'B', 'c')
  const pattern = fc.array(fc.oneof(segment, fc.constant('{x}')), { minLength: 1, maxLength: 4 })
  const path = fc.array(fc.oneof(segment, fc.constantFrom('b', 'A', '*', ':at1', '%41', 'x%2Fy', '')), { maxLength: 4 })
  const patterns = fc.uniqueArray(pattern, {
    minLength: 1,
    maxLength: 8,
    selector: (parts) => parts.join('/').toLowerCase(),
  })
  fc.assert(
    fc.property(patterns, fc.array(path, { maxLength: 8 }), (all, paths) => {
      const target = givenRoutes(...all.map((parts) => resource(`/v1/${parts.join('/')}`)))
      return paths.every((parts) => {
        const found = target(`/v1/${parts.join('/')}`).route?.resource.pattern
        return found === expected(all, segmentsOf(`/${parts.join('/')}`).map(decodeURIComponent))
      })
    }),
    { numRuns: runs(1000), examples: [[[['{x}', '{x}'], ['{x}'], ['{x}', 'B'], ['a']], [['a', 'B']]]] },
  )
})

/** The rule as it is written: at each place what is fixed is tried before what is not. */
function expected(patterns: readonly (readonly string[])[], segments: readonly string[]): string | undefined {
  const fits = patterns.filter(
    (parts) =>
      parts.length === segments.length &&
      parts.every((part, at) => {
        const segment = segments[at] ?? ''
        return part === '{x}' ? segment !== '' : part.toLowerCase() === segment.toLowerCase()
      }),
  )
  const rank = (parts: readonly string[]) => parts.map((part) => (part === '{x}' ? '1' : '0')).join('')
  const [first] = fits.sort((one, other) => rank(one).localeCompare(rank(other)))
  return first && `/v1/${first.join('/')}`
}
