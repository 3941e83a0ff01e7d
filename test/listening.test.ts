import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { ListeningClient, type ReadEvent } from './listening-client.js'
import { RunningBroker } from './running.js'

/** What `rigel key` hands over to. */
const keyProgram = fileURLToPath(new URL('../src/runtime/commands/key-program.js', import.meta.url))

/** Subscribes a client of NGSIv2 that listens to the rooms of a type; gives the id. */
async function subscribed(broker: RunningBroker, type: string, more: object = {}): Promise<string> {
  const { status, headers, text } = await broker.send('POST', '/v2/subscriptions', {
    subject: { entities: [{ idPattern: '.*', type }] },
    notification: { http: { url: 'sse:' }, attrsFormat: 'keyValues', ...more },
  })
  if (status !== 201) throw new Error(text)
  return headers.get('location')?.split('/').at(-1) ?? ''
}

async function written(broker: RunningBroker, type: string, id: string, n: number): Promise<void> {
  const entity = { id, type, n: { type: 'Number', value: n } }
  const { status, text } = await broker.send('POST', '/v2/op/update', { actionType: 'append', entities: [entity] })
  if (status !== 204) throw new Error(text)
}

function eventsOf(id: string): string {
  return `/v2/subscriptions/${id}/events`
}

/** The values of `n` that were notified, in order. */
function numbers(events: readonly ReadEvent[]): readonly number[] {
  return events.map(({ data }) => JSON.parse(data).data[0].n)
}

/** The same by entity: entities of different partitions have no order among them. */
function numbersByEntity(events: readonly ReadEvent[]): Readonly<Record<string, readonly number[]>> {
  const byEntity: Record<string, number[]> = {}
  for (const { data } of events) {
    const { id, n } = JSON.parse(data).data[0]
    byEntity[id] = [...(byEntity[id] ?? []), n]
  }
  return byEntity
}

test('a client listens to a subscription', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '2', '-httpThreads', '2'])

  await t.test('its notifications come as events, with the headers that a receiver gets as fields', async (t) => {
    const id = await subscribed(broker, 'Room')
    const client = await ListeningClient.open(t, broker, { path: eventsOf(id) })
    t.match(client.head, /Content-Type: text\/event-stream/i)
    for (const n of [1, 2, 3]) await written(broker, 'Room', 'Room1', n)
    await client.until(() => client.notifications.length === 3)
    t.same(numbers(client.notifications), [1, 2, 3])
    const [first] = client.notifications
    t.match(first?.fields.get('Rigel-Notification-Id'), `${id}-`)
    t.match(first?.fields.get('Fiware-Correlator'), /^[\da-f-]{36}/)
    t.equal(first?.fields.get('Ngsiv2-AttrsFormat'), 'keyValues')
    t.match(client.retry, /^\d+$/)
    client.close()
  })

  await t.test('who names the last event that it has gets what came after it, and nothing twice', async (t) => {
    const id = await subscribed(broker, 'Hall')
    for (const n of [1, 2, 3, 4]) await written(broker, 'Hall', `Hall${n % 2}`, n)
    const first = await ListeningClient.open(t, broker, { path: eventsOf(id) })
    await first.until(() => first.notifications.length === 4)
    first.close()
    const last = first.notifications[1]?.id ?? ''
    const second = await ListeningClient.open(t, broker, { path: eventsOf(id), headers: { 'Last-Event-ID': last } })
    await second.until(() => second.notifications.length === 2)
    t.same(numbersByEntity(second.notifications), numbersByEntity(first.notifications.slice(2)))
    second.close()
    const third = await ListeningClient.open(t, broker, { path: `${eventsOf(id)}?lastEventId=${second.lastId}` })
    await written(broker, 'Hall', 'Hall9', 9)
    await third.until(() => third.notifications.length > 0)
    t.same(numbers(third.notifications), [9])
    third.close()
  })

  await t.test(
    'what is not confirmed is sent again to a client that names nothing, and what is confirmed is not',
    async (t) => {
      const id = await subscribed(broker, 'Attic')
      const first = await ListeningClient.open(t, broker, { path: `${eventsOf(id)}?confirm=explicit` })
      for (const n of [1, 2, 3]) await written(broker, 'Attic', 'Attic1', n)
      await first.until(() => first.notifications.length === 3)
      const upTo = first.notifications[1]?.id ?? ''
      const confirmed = await broker.send('POST', eventsOf(id), undefined, { 'Last-Event-ID': upTo })
      t.equal(confirmed.status, 204)
      first.close()
      const second = await ListeningClient.open(t, broker, { path: eventsOf(id) })
      await second.until(() => second.notifications.length > 0)
      t.same(numbers(second.notifications), [3])
      second.close()
    },
  )

  await t.test('the newest client gets the notifications, and the one before is told', async (t) => {
    const id = await subscribed(broker, 'Cellar')
    const older = await ListeningClient.open(t, broker, { path: eventsOf(id) })
    const newer = await ListeningClient.open(t, broker, { path: eventsOf(id) })
    await older.until(() => older.isOver)
    t.equal(older.end, 'replaced')
    await written(broker, 'Cellar', 'Cellar1', 1)
    await newer.until(() => newer.notifications.length === 1)
    t.same(older.notifications, [])
    newer.close()
  })

  await t.test(
    'clients of a group share the entities, and one that stays gets what the other had not confirmed',
    async (t) => {
      const id = await subscribed(broker, 'Desk')
      const path = `${eventsOf(id)}?group=shift&confirm=explicit`
      const members = [await ListeningClient.open(t, broker, { path }), await ListeningClient.open(t, broker, { path })]
      const [one, other] = members
      if (one === undefined || other === undefined) throw new Error('there are two')
      for (let n = 1; n <= 40; n += 1) await written(broker, 'Desk', `Desk${n % 10}`, n)
      await one.until(() => one.notifications.length + other.notifications.length === 40)
      t.ok(one.notifications.length > 0 && other.notifications.length > 0)
      const desks = (client: ListeningClient) =>
        new Set(client.notifications.map(({ data }) => JSON.parse(data).data[0].id))
      t.same(
        [...desks(one)].filter((desk) => desks(other).has(desk)),
        [],
        'an entity is notified to one of them',
      )
      const upTo = one.notifications[0]?.id ?? ''
      t.equal((await broker.send('POST', eventsOf(id), undefined, { 'Last-Event-ID': upTo })).status, 204)
      const own = other.notifications.length
      one.close()
      await other.until(() => other.notifications.length === 39)
      t.same(
        numbersByEntity(other.notifications.slice(own)),
        numbersByEntity(one.notifications.slice(1)),
        'in order for each entity',
      )
      other.close()
    },
  )

  await t.test('the stream ends with the subscription, and says so', async (t) => {
    const id = await subscribed(broker, 'Shed')
    const client = await ListeningClient.open(t, broker, { path: eventsOf(id) })
    t.equal((await broker.send('DELETE', `/v2/subscriptions/${id}`)).status, 204)
    await client.until(() => client.isOver)
    t.equal(client.end, 'removed')
    t.equal((await broker.send('GET', eventsOf(id))).status, 404)
    const other = await subscribed(broker, 'Shed')
    const second = await ListeningClient.open(t, broker, { path: eventsOf(other) })
    const changed = { notification: { http: { url: 'http://127.0.0.1:9/' } } }
    t.equal((await broker.send('PATCH', `/v2/subscriptions/${other}`, changed)).status, 204)
    await second.until(() => second.isOver)
    t.equal(second.end, 'changed')
    const response = await broker.send('GET', eventsOf(other))
    t.equal(response.status, 400)
    t.match(response.text, /only one whose URL is sse:/)
    const third = await subscribed(broker, 'Shed')
    const last = await ListeningClient.open(t, broker, { path: eventsOf(third) })
    const soon = new Date(Date.now() + 1500).toISOString()
    t.equal((await broker.send('PATCH', `/v2/subscriptions/${third}`, { expires: soon })).status, 204)
    await last.until(() => last.isOver)
    t.equal(last.end, 'expired')
    t.equal((await broker.send('GET', eventsOf(third))).status, 400)
  })

  await t.test('a subscription of NGSIv1 is listened to in its form, and errors have that of NGSIv1', async (t) => {
    const { json } = await broker.send('POST', '/v1/subscribeContext', {
      entities: [{ id: '.*', type: 'Barn', isPattern: 'true' }],
      reference: 'sse:',
      notifyConditions: [{ type: 'ONCHANGE' }],
    })
    const id = (json as { subscribeResponse?: { subscriptionId: string } }).subscribeResponse?.subscriptionId ?? ''
    const path = `/v1/subscriptions/${id}/events`
    const client = await ListeningClient.open(t, broker, { path })
    await written(broker, 'Barn', 'Barn1', 5)
    await client.until(() => client.notifications.length === 1)
    t.match(JSON.parse(client.notifications[0]?.data ?? ''), {
      subscriptionId: id,
      originator: 'localhost',
      contextResponses: [{ contextElement: { id: 'Barn1' }, statusCode: { code: '200' } }],
    })
    t.equal((await broker.send('POST', path, undefined, { 'Last-Event-ID': client.lastId ?? '' })).status, 204)
    client.close()
    const shown = await broker.send('GET', `/v2/subscriptions/${id}`)
    t.match(shown.json, { notification: { http: { url: 'sse:' } } })
    for (const unknown of ['000000000000000000000000', 'x']) {
      const { status, json } = await broker.send('GET', `/v1/subscriptions/${unknown}/events`)
      t.same(
        [status, json],
        [
          404,
          {
            orionError: {
              code: '404',
              reasonPhrase: 'No context element found',
              details: `subscriptionId: /${unknown}/`,
            },
          },
        ],
      )
    }
  })

  await t.test(
    'the URL of those who listen is sse: and nothing else, and not one of MQTT or of availability',
    async (t) => {
      const target = (notification: object) =>
        broker.send('POST', '/v2/subscriptions', { subject: { entities: [{ id: 'Den1' }] }, notification })
      const refusals: readonly (readonly [notification: object, text: string])[] = [
        [{ http: { url: 'sse:x' } }, 'Invalid URL parsing notification url'],
        [{ http: { url: 'SSE:' } }, 'Invalid URL parsing notification url'],
        [{ httpCustom: { url: 'sse:/' } }, 'invalid custom /url/'],
        [{ mqtt: { url: 'sse:', topic: 'a' } }, 'invalid mqtt /url/'],
      ]
      for (const [notification, description] of refusals) {
        const { status, json } = await target(notification)
        t.same([status, json], [400, { error: 'BadRequest', description }])
      }
      const availability = await broker.send('POST', '/v1/registry/subscribeContextAvailability', {
        entities: [{ id: 'Den1' }],
        reference: 'sse:',
      })
      t.match(availability.text, 'Invalid URL')
    },
  )

  await t.test('ids, groups and headers that are none are refused with a text that says why', async (t) => {
    const id = await subscribed(broker, 'Loft')
    const cases: readonly (readonly [query: string, lastEventId: string, text: RegExp])[] = [
      ['', 'x', /Last-Event-ID is no id/],
      ['', '00000000', /Last-Event-ID is no id/],
      ['', '0000000g.0-1', /Last-Event-ID is no id/],
      ['', `00000000${'.1-1'.repeat(600)}`, /Last-Event-ID is no id/],
      ['', '00000000.0-1234567890123456', /Last-Event-ID is no id/],
      ['?lastEventId=%00', '', /Last-Event-ID is no id/],
      ['?group=a%20b', '', /group is not a name/],
      [`?group=${'g'.repeat(65)}`, '', /group is not a name/],
      ['?confirm=yes', '', /confirm is not explicit/],
    ]
    for (const [query, last, text] of cases) {
      const headers: Record<string, string> = last === '' ? {} : { 'Last-Event-ID': last }
      const { status, json } = await broker.send('GET', eventsOf(id) + query, undefined, headers)
      t.same([status, (json as { error: string }).error], [400, 'BadRequest'], query + last)
      t.match((json as { description: string }).description, text)
    }
    t.match((await broker.send('POST', eventsOf(id))).text, /Last-Event-ID is missing/)
    const foreign = await broker.send('POST', eventsOf(id), undefined, { 'Last-Event-ID': '00000000.0-1' })
    t.same(foreign.status, 400)
    t.match(foreign.text, /another subscription/)
    t.equal((await broker.send('PUT', eventsOf(id), {})).status, 405)
    t.equal((await broker.send('GET', eventsOf('0'.repeat(24)))).status, 404)
    t.equal((await broker.send('GET', eventsOf(id), undefined, { 'Fiware-ServicePath': '/elsewhere' })).status, 404)
  })

  await t.test('an id that was never given, or of another subscription, takes nothing away', async (t) => {
    const id = await subscribed(broker, 'Nook')
    const probe = await ListeningClient.open(t, broker, { path: eventsOf(id) })
    await written(broker, 'Nook', 'Nook1', 1)
    await probe.until(() => probe.notifications.length === 1)
    const tag = probe.lastId?.slice(0, 8)
    probe.close()
    const ids = [
      `${tag}.0-999999999999999.1-999999999999999.2-999999999999999`,
      '00000000.0-9.1-9',
      `${tag}-gzzzzzzz1_99.0-9`,
    ]
    for (const last of ids) {
      const client = await ListeningClient.open(t, broker, { path: eventsOf(id), headers: { 'Last-Event-ID': last } })
      await client.until(() => client.notifications.length === 1)
      t.same(numbers(client.notifications), [1], last)
      client.close()
    }
  })

  await t.test('with clients that listen the broker ends as soon as without, and tells them', async (t) => {
    const id = await subscribed(broker, 'Yard')
    const client = await ListeningClient.open(t, broker, { path: eventsOf(id) })
    await broker.endsInOrder(t)
    t.notMatch(broker.output, /given up/)
    await client.until(() => client.isOver)
    t.equal(client.end, 'stopped')
  })
})

test('whose key may read may listen and confirm, in the tenants and paths that the subscription has', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'keys')
  const key = (...words: readonly string[]): string => {
    const printed = execFileSync(process.execPath, [keyProgram, ...words, '--file', file], { encoding: 'utf8' })
    return /^key {3}(\S+)$/m.exec(printed)?.[1] ?? printed.trim()
  }
  const [writer, reader, otherTenant] = [
    key('w'),
    key('r', '--read', '--tenants', 'acme'),
    key('s', '--tenants', 'other'),
  ]
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), [
    '-multiservice',
    '-apiKeys',
    file,
    '-corsOrigin',
    '__ALL',
  ])
  const made = await broker.send(
    'POST',
    '/v2/subscriptions',
    {
      subject: { entities: [{ idPattern: '.*' }] },
      notification: { httpCustom: { url: 'sse:', payload: 'a%0Ab ${id}' } },
    },
    { 'X-Auth-Token': writer, 'Fiware-Service': 'acme', 'Fiware-ServicePath': '/plant' },
  )
  t.equal(made.status, 201)
  const path = `${made.headers.get('location')}/events`
  const own = { 'X-Auth-Token': reader, 'Fiware-Service': 'acme' }
  const others: readonly (readonly [status: number, headers: Record<string, string>])[] = [
    [401, { 'Fiware-Service': 'acme' }],
    [403, { ...own, 'X-Auth-Token': otherTenant }],
    [404, { 'X-Auth-Token': otherTenant, 'Fiware-Service': 'other' }],
    [404, { ...own, 'Fiware-ServicePath': '/field' }],
  ]
  for (const [status, headers] of others) {
    t.equal((await broker.send('GET', path, undefined, headers)).status, status)
    t.equal(
      (await broker.send('POST', path, undefined, { ...headers, 'Last-Event-ID': '00000000.0-1' })).status,
      status,
    )
  }
  const headers = { ...own, 'Fiware-ServicePath': '/plant', Origin: 'http://page.example' }
  const client = await ListeningClient.open(t, broker, { path, headers })
  t.match(client.head, /Access-Control-Allow-Origin: \*/i)
  const entity = { id: 'Mill1', type: 'Mill', n: { type: 'Number', value: 1 } }
  const written = await broker.send('POST', '/v2/entities', entity, {
    ...{ 'X-Auth-Token': writer, 'Fiware-Service': 'acme', 'Fiware-ServicePath': '/plant' },
  })
  t.equal(written.status, 201)
  await client.until(() => client.notifications.length === 1)
  const [event] = client.notifications
  t.equal(event?.data, 'a\nb Mill1', 'a template is filled in, and each of its lines is one of the event')
  t.equal(event?.fields.get('Fiware-Service'), 'acme')
  t.equal(event?.fields.get('Fiware-ServicePath'), '/plant')
  const confirmed = await broker.send('POST', path, undefined, { ...own, 'Last-Event-ID': client.lastId ?? '' })
  t.equal(confirmed.status, 204)
  client.close()
  await broker.endsInOrder(t)
})
