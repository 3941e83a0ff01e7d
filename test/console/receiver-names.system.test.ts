import { test } from 'tap'
import type { LiveFrame, LiveHello } from '../../src/api/console/live-frame.js'
import { needsTrust } from '../../src/http/management-access.js'
import { EventReader } from '../event-reader.js'
import { described, targetOf } from '../openapi/given-description.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

/** What a proxy adds: the request is not from the machine of the broker. */
const elsewhere = { 'X-Forwarded-For': '203.0.113.9' }
const path = 'receiver-of-a-tenant'
/** Nothing listens there. */
const receiver = `http://127.0.0.1:9/${path}`
/** Its name, its address, and why nothing is delivered to it. */
const names = new RegExp(`${path}|127\\.0\\.0\\.1:9\\b|ECONNREFUSED|connection refused`, 'i')

const forClients = /^\/(v1(?!\/admin)|v2|ngsi9|ngsi10)(\/|$)/i

/** The description of the interfaces, whose examples have reasons of failures too. */
const sameEverywhere = /^\/(openapi\.json|docs)/

/** The first frame that says that a receiver fails. */
async function failingFrame(url: string, headers: Record<string, string>): Promise<[LiveHello, LiveFrame, string]> {
  const viewer = await EventReader.open(`${url}/admin/live`, headers)
  const hello = (await viewer.json('hello')) as LiveHello
  try {
    return await until(async () => {
      const frame = (await viewer.json('frame')) as LiveFrame
      return frame.alarms['NotificationError']?.[0] === 1 && [hello, frame, JSON.stringify(frame)]
    }, 'a frame says that a receiver fails')
  } finally {
    viewer.close()
  }
}

test('a receiver that fails', async (t) => {
  const broker = await RunningBroker.start(t, ['-httpThreads', '2', '-multiservice', '-notifRetryMin', '60000'])
  const tenant = { 'Fiware-Service': 'acme' }
  const subject = { entities: [{ idPattern: '.*', type: 'Tub' }] }
  await broker.send('POST', '/v2/subscriptions', { subject, notification: { http: { url: receiver } } }, tenant)
  await broker.send('POST', '/v2/entities', { id: 'Tub1', type: 'Tub', level: { value: 1 } }, tenant)

  await t.test('is named, with the reason, in the frames of those who may read /admin/receivers', async (t) => {
    const [hello, { alarmGroups }] = await failingFrame(broker.url, {})
    t.equal(alarmGroups?.length, 1)
    t.match(alarmGroups?.[0], {
      kind: 'NotificationError',
      host: 'http://127.0.0.1:9',
      subject: receiver,
      occurrences: 1,
    })
    t.match(alarmGroups?.[0]?.reason, names)
    t.equal(hello.isReadOnly, true, 'the port is open to others')
    t.match((await broker.send('GET', '/admin/receivers')).text, names)
  })

  await t.test('is counted in the frames of all others, which are otherwise the same', async (t) => {
    const [hello, { alarmGroups, deliveries }, text] = await failingFrame(broker.url, elsewhere)
    t.equal(alarmGroups, null)
    t.equal(deliveries.backlogs, null)
    t.equal(deliveries.trouble, 1)
    t.notMatch(text, names)
    t.equal(hello.isReadOnly, true)
    t.equal((await broker.send('GET', '/admin/receivers', undefined, elsewhere)).status, 403)
  })

  await t.test('is named by nothing that everybody may read', async (t) => {
    const open = described.filter(
      ({ method, path }) => method === 'get' && !forClients.test(path) && !needsTrust(path, 'GET'),
    )
    t.ok(open.length > 15, `${open.length} resources`)
    for (const each of open) {
      if (each.path === '/admin/live' || sameEverywhere.test(each.path)) continue
      const target = targetOf(each, (example) => example)
      for (const more of ['', 'details=on', 'options=fullCounters']) {
        const joint = target.includes('?') ? '&' : '?'
        const { text } = await broker.send(
          'GET',
          more === '' ? target : `${target}${joint}${more}`,
          undefined,
          elsewhere,
        )
        t.notMatch(text, names, `${target} ${more}`)
      }
    }
  })
})

test('with -adminOpen everybody sees the names, and a port that only this machine reaches takes changes', async (t) => {
  const broker = await RunningBroker.start(t, ['-adminOpen', '-localIp', '127.0.0.1'])
  const viewer = await EventReader.open(`${broker.url}/admin/live`, elsewhere)
  t.match(await viewer.json('hello'), { isReadOnly: false })
  t.match(await viewer.json('frame'), { alarmGroups: [], deliveries: { backlogs: [] } })
  viewer.close()
})
