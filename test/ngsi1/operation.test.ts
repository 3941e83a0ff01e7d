import { test } from 'tap'
import { pathOfUpdate } from '../../src/api/ngsi1/operation.js'
import type { ServicePath } from '../../src/model/context/entity.js'
import { scripted, send } from './given.js'

test('a malformed tenant is refused with and without multiservice', async (t) => {
  const bad = 'bad character in tenant name - only underscore and alphanumeric characters are allowed'
  for (const multiservice of [false, true]) {
    const checkRefusal = async (name: string, details: string) => {
      const sent = { headers: { 'fiware-service': name }, options: { multiservice } }
      const response = await send(scripted(), 'GET', 'contextEntities', sent)
      t.match(response, { status: 200, body: { orionError: { code: '400', details } } }, name)
    }
    await checkRefusal('a'.repeat(51), 'bad length - a tenant name can be max 50 characters long')
    for (const name of ['a-b', 'a b', 'a/b', '../x', 'é', 'a, b']) await checkRefusal(name, bad)
  }
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
