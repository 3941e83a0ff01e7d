import { test } from 'tap'
import type { ServicePath } from '../../src/context/entity.js'
import { pathOfUpdate, tenantOf } from '../../src/ngsi1/operation.js'

test('a malformed tenant is refused with and without multiservice', async (t) => {
  const details = (name: string) => {
    const tenant = tenantOf({ 'fiware-service': name }, false)
    return tenant.ok ? undefined : [tenant.error.status, JSON.parse(String(tenant.error.body)).orionError.details]
  }
  t.same(details('a'.repeat(51)), [200, 'bad length - a tenant name can be max 50 characters long'])
  const bad = 'bad character in tenant name - only underscore and alphanumeric characters are allowed'
  for (const name of ['a-b', 'a b', 'a/b', '../x', 'é', 'a, b']) t.same(details(name), [200, bad], name)
})

test('updates without a path go to the root', async (t) => {
  const range = (path: string, below: boolean) => ({ path: path as ServicePath, below })
  t.same(pathOfUpdate([]), { ok: true, value: '/' })
  t.same(pathOfUpdate([range('/a', false)]), { ok: true, value: '/a' })
  t.match(pathOfUpdate([range('/a', true)]), { error: { code: '400', details: 'Bad Character in Service-Path' } })
  t.match(pathOfUpdate([range('/a', false), range('/b', false)]), {
    error: { code: '400', details: 'more than one service path in context update request' },
  })
})
