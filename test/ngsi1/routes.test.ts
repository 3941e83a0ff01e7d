import { test } from 'tap'
import { ngsi1Resources } from '../../src/ngsi1/routes.js'
import { plainOptions, scripted } from './given.js'

/** Those of the registry have a table and tests of their own. */
const resources = ngsi1Resources({ broker: scripted(), options: plainOptions }).filter(
  ({ pattern }) => !pattern.startsWith('/v1/registry/'),
)

test('each resource allows its verbs in the order of the Allow header', async (t) => {
  const allow = resources.map(({ pattern, operations }) => [pattern, Object.keys(operations).join(', ')])
  t.same(Object.fromEntries(allow), {
    '/v1/updateContext': 'POST',
    '/v1/queryContext': 'POST',
    '/v1/contextEntities': 'POST, GET',
    '/v1/contextEntities/type/{type}/id/{id}': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/type/{type}/id/{id}/attributes/{name}': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/type/{type}/id/{id}/attributes/{name}/{metaID}': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/{id}': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/{id}/attributes': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/{id}/attributes/{name}': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/{id}/attributes/{name}/{metaID}': 'GET, PUT, DELETE',
    '/v1/contextEntityTypes/{type}': 'GET',
    '/v1/contextEntityTypes/{type}/attributes': 'GET',
    '/v1/contextEntityTypes/{type}/attributes/{name}': 'GET',
    '/v1/contextTypes': 'GET',
    '/v1/contextTypes/{type}': 'GET',
  })
})

test('the older names are those of nine resources', async (t) => {
  const aliases = resources.flatMap(({ pattern, aliases = [] }) => aliases.map((alias) => [alias, pattern]))
  t.equal(aliases.length, 9)
  for (const [alias, pattern] of aliases) t.equal(alias?.replace('/ngsi10/', '/v1/'), pattern)
  const without = ['/v1/contextEntities', '/v1/contextTypes', '/v1/contextTypes/{type}']
  const typed = '/v1/contextEntities/type/{type}/id/{id}'
  const plain = resources.filter((resource) => resource.aliases === undefined).map(({ pattern }) => pattern)
  const expected = [...without, typed, `${typed}/attributes/{name}`, `${typed}/attributes/{name}/{metaID}`]
  t.same(plain.toSorted(), expected.toSorted())
})

test('each resource is counted under a name of its own, and only GET reads but for queries', async (t) => {
  t.equal(new Set(resources.map(({ counter }) => counter)).size, resources.length)
  for (const { pattern, operations } of resources) {
    for (const [verb, { use }] of Object.entries(operations)) {
      t.equal(use, verb === 'GET' || pattern === '/v1/queryContext' ? 'read' : 'write', `${verb} ${pattern}`)
    }
  }
})

test('updateContext and queryContext report errors of the HTTP layer as errorCode, the others as it likes', async (t) => {
  const status = { code: '413', reasonPhrase: 'Request Entity Too Large' }
  for (const { pattern, operations } of resources) {
    const wrap = operations.POST?.wrapStatus
    if (pattern === '/v1/updateContext' || pattern === '/v1/queryContext') t.same(wrap?.(status), { errorCode: status })
    else t.equal(wrap, undefined)
  }
})
