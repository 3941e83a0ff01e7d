import { test } from 'tap'
import type { ServicePath } from '../../src/context/entity.js'
import { parseTenant, pathOfUpdate, pathsOfRead } from '../../src/ngsi1/request-head.js'

test('a tenant is folded to lower case, and the default one without multiservice', async (t) => {
  const tenant = (name: string | undefined, multiservice: boolean) =>
    parseTenant(name === undefined ? {} : { 'fiware-service': name }, multiservice)
  t.same(tenant('Acme_7', true), { ok: true, value: 'acme_7' })
  t.same(tenant('Acme_7', false), { ok: true, value: '' })
  t.same(tenant(undefined, true), { ok: true, value: '' })
  t.same(tenant('', true), { ok: true, value: '' })
  t.ok(tenant('a'.repeat(50), true).ok)
})

test('a malformed tenant is refused with and without multiservice', async (t) => {
  const details = (name: string) => {
    const tenant = parseTenant({ 'fiware-service': name }, false)
    return tenant.ok ? undefined : [tenant.error.status, JSON.parse(String(tenant.error.body)).orionError.details]
  }
  t.same(details('a'.repeat(51)), [200, 'bad length - a tenant name can be max 50 characters long'])
  const bad = 'bad character in tenant name - only underscore and alphanumeric characters are allowed'
  for (const name of ['a-b', 'a b', 'a/b', '../x', 'é', 'a, b']) t.same(details(name), [200, bad], name)
})

test('reads look everywhere without a path, updates in the root', async (t) => {
  const range = (path: string, below: boolean) => ({ path: path as ServicePath, below })
  t.same(pathsOfRead([]), [range('/', true)])
  t.same(pathsOfRead([range('/a', false)]), [range('/a', false)])
  t.same(pathOfUpdate([]), { ok: true, value: '/' })
  t.same(pathOfUpdate([range('/a', false)]), { ok: true, value: '/a' })
  t.match(pathOfUpdate([range('/a', true)]), { error: { code: '400', details: 'Bad Character in Service-Path' } })
  t.match(pathOfUpdate([range('/a', false), range('/b', false)]), {
    error: { code: '400', details: 'more than one service path in context update request' },
  })
})
