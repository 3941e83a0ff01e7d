import { test } from 'tap'
import { parseTenant } from '../../src/context/tenant.js'

test('a tenant is folded to lower case, and the default one without multiservice', async (t) => {
  t.same(parseTenant('Acme_7', true), { ok: true, value: 'acme_7' })
  t.same(parseTenant('Acme_7', false), { ok: true, value: '' })
  t.same(parseTenant(undefined, true), { ok: true, value: '' })
  t.same(parseTenant('', true), { ok: true, value: '' })
  t.ok(parseTenant('a'.repeat(50), true).ok)
})
