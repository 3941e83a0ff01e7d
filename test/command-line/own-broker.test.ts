import { join } from 'node:path'
import { test } from 'tap'
import { ownBroker, ownToken } from '../../src/flags/own-broker.js'
import type { EnvironmentVariables } from '../../src/flags/words.js'

/** Variables, and where they say that clients and operators reach the broker. */
const places: readonly (readonly [EnvironmentVariables, context: string, management?: string])[] = [
  [{}, 'http://127.0.0.1:1026'],
  [{ ORION_PORT: '', ORION_LOCALIP: '', RIGEL_ADMIN_PORT: '' }, 'http://127.0.0.1:1026'],
  [{ ORION_PORT: '23000' }, 'http://127.0.0.1:23000'],
  [{ ORION_HTTPS: 'TRUE' }, 'https://127.0.0.1:1026'],
  [{ ORION_USEIPV6: 'true' }, 'http://[::1]:1026'],
  [{ ORION_USEIPV4: 'true' }, 'http://127.0.0.1:1026'],
  [{ ORION_LOCALIP: '192.0.2.2' }, 'http://192.0.2.2:1026'],
  [{ ORION_LOCALIP: '2001:db8::2' }, 'http://[2001:db8::2]:1026'],
  [{ ORION_LOCALIP: '0.0.0.0' }, 'http://127.0.0.1:1026'],
  [{ ORION_LOCALIP: '::' }, 'http://[::1]:1026'],
  [{ ORION_PORT: '23000', RIGEL_ADMIN_PORT: '23005' }, 'http://127.0.0.1:23000', 'http://127.0.0.1:23005'],
  [{ ORION_USEIPV6: 'true', RIGEL_ADMIN_PORT: '1030' }, 'http://[::1]:1026', 'http://127.0.0.1:1030'],
  [
    { ORION_HTTPS: 'true', RIGEL_ADMIN_PORT: '1030', RIGEL_ADMIN_IP: '192.0.2.3' },
    'https://127.0.0.1:1026',
    'https://192.0.2.3:1030',
  ],
  [{ RIGEL_ADMIN_IP: '192.0.2.3' }, 'http://127.0.0.1:1026'],
]

test('a command finds the broker of this machine by the variables that it is started with', async (t) => {
  for (const [variables, context, management = context] of places) {
    t.same(
      ownBroker(variables),
      { ok: true, value: { context, management, cert: undefined } },
      JSON.stringify(variables),
    )
  }
  const secured = { ORION_HTTPS: 'true', ORION_HTTPS_CERTFILE: '/etc/rigel/cert.pem' }
  t.match(ownBroker(secured), { ok: true, value: { cert: '/etc/rigel/cert.pem' } })
})

test('a mistake in such a variable is named as at the start of the broker, and one in another does not matter', async (t) => {
  t.same(ownBroker({ ORION_PORT: 'x' }), { ok: false, error: "ORION_PORT: 'x' is not an integer from 1 to 65535" })
  t.same(ownBroker({ ORION_HTTPS: 'yes' }), { ok: false, error: "ORION_HTTPS: 'yes' is neither true nor false" })
  t.same(ownBroker({ ORION_LOCALIP: 'fe80::1%eth0' }), {
    ok: false,
    error: 'http://[fe80::1%eth0]:1026 is no URL of HTTP',
  })
  t.match(ownBroker({ ORION_LOG_LEVEL: 'loud' }), { ok: true })
})

test('its token is that of its variable, or in the file of the other one', async (t) => {
  const folder = t.testdir({ token: 'in-a-file\n' })
  const file = { RIGEL_ADMIN_TOKEN_FILE: join(folder, 'token') }
  t.same(ownToken({}), { ok: true, value: undefined })
  t.same(ownToken({ RIGEL_ADMIN_TOKEN: '' }), { ok: true, value: undefined })
  t.same(ownToken({ RIGEL_ADMIN_TOKEN: 'secret' }), { ok: true, value: 'secret' })
  t.same(ownToken(file), { ok: true, value: 'in-a-file' })
  t.same(ownToken({ ...file, RIGEL_ADMIN_TOKEN: 'secret' }), { ok: true, value: 'secret' })
  t.match(ownToken({ RIGEL_ADMIN_TOKEN_FILE: join(folder, 'none') }), { ok: false, error: /cannot be read/ })
})
