import { request } from 'node:http'
import { t as root, type Test, test } from 'tap'
import type { LiveHello } from '../../src/api/console/live-frame.js'
import { isOfOrion } from '../../src/http/management-access.js'
import { EventReader } from '../event-reader.js'
import { type Described, described, targetOf } from '../openapi/given-description.js'
import { RunningBroker } from '../running.js'

const token = 'a-token-of-the-management'
const authorized = { Authorization: `Bearer ${token}` }
const evil = 'evil.example'

/** What is of the management and may be read by everybody [management 13]. */
const forEverybody = ['/version', '/health/live', '/health/ready', '/openapi.json', '/docs', '/docs/flags']
/** What machines read with the token, under whatever name, and no page of another site can. */
const polledByMachines = '/metrics'
/** Interfaces for clients. */
const forClients = /^\/(v1(?!\/admin)|v2|ngsi9|ngsi10)(\/|$)/i

/** All that the token protects, method by method, under each of its names. */
const operations = described.flatMap((each) =>
  [each.path, ...each.aliases]
    .filter((path) => !forEverybody.includes(path) && !forClients.test(path))
    .map((path): Described => ({ ...each, path })),
)

/** The status of the head of a response; what follows is not read, since some streams have no end. */
function statusOf(broker: RunningBroker, each: Described, headers: Readonly<Record<string, string>>): Promise<number> {
  const path = targetOf(each, (example) => example)
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: broker.port,
      method: each.method.toUpperCase(),
      path,
      headers,
      agent: false,
    }
    const sent = request(options, (response) => {
      resolve(response.statusCode ?? 0)
      sent.destroy()
    })
    sent.on('error', reject).end()
  })
}

/** Requires a status of every operation. */
async function checkAll(
  t: Test,
  broker: RunningBroker,
  headers: Readonly<Record<string, string>>,
  isRight: (status: number, each: Described) => boolean,
): Promise<void> {
  for (const each of operations) {
    const status = await statusOf(broker, each, headers)
    t.ok(isRight(status, each), `${each.method} ${each.path} is ${status}`)
  }
}

const isOfMachines = ({ path }: Described) => path === polledByMachines

test('what the broker serves beside the interfaces for clients is known here, route by route', async (t) => {
  const broker = await RunningBroker.shared()
  const viewer = await EventReader.open(`${broker.url}/admin/live`)
  const hello = (await viewer.json('hello')) as LiveHello
  viewer.close()
  const served = hello.routes.map(({ name }) => name).filter((name) => name.startsWith('/') && !forClients.test(name))
  const unknown = served.filter((name) => !operations.some(({ path }) => plain(path) === plain(name)))
  t.ok(served.length > 30, `${served.length} routes`)
  t.same(
    unknown.filter((name) => !forEverybody.includes(name) && !filesOfTheConsole.test(name)),
    [],
    'a resource that nobody describes is protected by accident at best',
  )
})

const filesOfTheConsole = /^\/(console(\/|$)|$)/

/** Without the names of placeholders, and without what may be left out at the end. */
function plain(path: string): string {
  return path.replace(/\{\w+\}/g, '{}').replace(/\[.*\]$/, '')
}

test('with a token', async (t) => {
  const broker = await RunningBroker.start(t, ['-adminToken', token])

  await t.test('every resource is 401 without it, and with another one', async (t) => {
    await checkAll(t, broker, {}, (status) => status === 401)
    await checkAll(t, broker, { Authorization: `Bearer ${token}x` }, (status) => status === 401)
  })

  await t.test('and is 403 from another site with it', async (t) => {
    for (const headers of [{ Origin: `http://${evil}` }, { Origin: 'null' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
      await checkAll(
        t,
        broker,
        { ...authorized, ...headers },
        (status, each) => (status === 403) !== isOfMachines(each),
      )
    }
  })

  await t.test('under whatever name the broker is called', async (t) => {
    await checkAll(t, broker, { ...authorized, Host: evil }, (status) => status !== 401 && status !== 403)
  })
})

test('without a token', async (t) => {
  const broker = await RunningBroker.start(t)

  await t.test('every resource is 403 from another site', async (t) => {
    for (const headers of [{ Origin: `http://${evil}` }, { 'Sec-Fetch-Site': 'same-site' }]) {
      await checkAll(t, broker, headers, (status, each) => (status === 403) !== isOfMachines(each))
    }
  })

  await t.test('and under a name that is foreign, unless Orion has it as well', async (t) => {
    const isOpen = ({ path, method }: Described) => isOfOrion(path, method.toUpperCase())
    await checkAll(t, broker, { Host: evil }, (status, each) => (status === 403) !== isOpen(each))
  })

  await t.test('and is there for programs, and for pages of its own', async (t) => {
    const own = { Origin: broker.url, 'Sec-Fetch-Site': 'same-origin' }
    for (const headers of [{}, own]) await checkAll(t, broker, headers, (status) => status !== 401 && status !== 403)
  })
})

root.ok(operations.length > 50, `${operations.length} operations`)
