import { t as root, test } from 'tap'
import { FarEnd, responding } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

const well = await FarEnd.listen(root)
const failing = await FarEnd.listen(root, responding(500))
const provider = await FarEnd.listen(root, responding(503))
const broker = await RunningBroker.start(root, ['-multiservice', '-httpThreads', '2'])

async function made(path: string, body: object, headers: Record<string, string> = {}): Promise<string> {
  const reply = await broker.send('POST', path, body, headers)
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.headers.get('location')?.split('/').at(-1) ?? ''
}

function subscribe(url: string): Promise<string> {
  return made('/v2/subscriptions', { subject: { entities: [{ idPattern: '.*' }] }, notification: { http: { url } } })
}

async function read(path: string): Promise<{ readonly [name: string]: unknown }> {
  const reply = await broker.send('GET', path)
  root.equal(reply.status, 200, `${path}: ${reply.text.slice(0, 300)}`)
  return Object(reply.json)
}

/** Reads until something holds. */
function readUntil(path: string, holds: (json: { readonly [name: string]: unknown }) => boolean) {
  return until(async () => {
    const json = await read(path)
    return holds(json) && json
  }, `${path}: ${holds}`)
}

const calm = await subscribe(well.url())
const calmToo = await subscribe(well.url('/other'))
const troubled = await subscribe(failing.url())
for (const id of ['a', 'b', 'c']) await made('/v2/entities', { id, type: 'T', n: { type: 'Number', value: 1 } })

test('a receiver is one of all its subscriptions, with what waits for it and what has failed', async (t) => {
  const path = '/admin/receivers?limit=10'
  const { count, receivers } = await readUntil(path, (json) => {
    const [first, second] = Array.from(Object(json['receivers']), (each) => Object(each))
    // A page is made in steps: what was accepted during them may still be counted as waiting.
    const isCalm = second?.accepted === 6 && second.queueDepth === 0
    return isCalm && first?.failed > 0 && first.queueDepth === 3 && first.nextAttempt !== undefined
  })
  t.equal(count, 2)
  t.match(receivers, [
    {
      receiver: `http://127.0.0.1:${failing.port}`,
      ...{ subscriptions: 1, ids: [troubled], queueDepth: 3, accepted: 0, lastFailureReason: 'trouble: 500' },
      ...{ oldestQueued: /Z$/, nextAttempt: /Z$/, lastFailure: /Z$/ },
    },
    {
      receiver: `http://127.0.0.1:${well.port}`,
      ...{ subscriptions: 2, underWay: 0, queueDepth: 0, queueBytes: 0, failed: 0, lastSuccess: /Z$/ },
    },
  ])
  const [, second] = Array.from(Object(receivers), (each) => Object(each))
  t.same([...second.ids].toSorted(), [calm, calmToo].toSorted())
  t.ok(second.meanLatency_ms > 0 && second.lastLatency_ms > 0)
  t.match(await read(`/admin/receivers?text=${failing.port}`), { count: 1, receivers: [{ ids: [troubled] }] })
  t.match(await read('/admin/receivers?limit=1&offset=1'), { count: 2, receivers: [{ subscriptions: 2 }] })
})

test('of a subscription it is said what its queue does, and how its last attempts ended', async (t) => {
  const path = `/admin/subscriptions/${troubled}`
  const { queue, attempts } = await read(`${path}?details=on`)
  t.match(queue, { state: /pausing after a failure|sending/ })
  t.match(attempts, [{ at: /Z$/, duration_ms: Number, result: 'trouble', status: 500 }])
  const [last] = Array.from(Object((await read(path))['attempts']), (each) => Object(each))
  t.match(last, { at: /Z$/, result: 'trouble', status: 500 }, 'without details as well')
  t.ok(last.duration_ms > 0 && last.duration_ms < 10_000)
  const well = Object(await read(`/admin/subscriptions/${calm}?details=on`))
  t.equal(well.queue.state, 'idle')
  t.equal(well.attempts.length, 3)
  for (const attempt of well.attempts) t.match(attempt, { result: 'accepted', status: 200, response: undefined })
})

test('an alarm says what is wrong, since when and how often, on every front end', async (t) => {
  for (let times = 0; times < 8; times += 1) {
    const { alarms, counts } = await read('/admin/alarms')
    t.match(alarms, [
      {
        kind: 'NotificationError',
        subject: failing.url(),
        reason: 'trouble: 500',
        since: /Z$/,
        last: /Z$/,
        isOver: false,
      },
    ])
    t.match(counts, { NotificationError: { active: 1 }, BadInput: { active: 0 } })
  }
  t.same((await read('/admin/alarms?kind=ForwardingError'))['alarms'], [])
  failing.respond = responding(200)
  await readUntil('/admin/alarms', ({ alarms }) => Object(alarms).length === 0)
})

test('a registration is shown as it is stored, with the calls that it has caused, on every front end', async (t) => {
  const url = provider.url('/v2').replace('//', '//user:hidden@')
  const entities = [{ type: 'Far', isPattern: 'false', id: 'Far1' }]
  const registered = await broker.send('POST', '/v1/registry/registerContext', {
    contextRegistrations: [
      { entities, attributes: [{ name: 'n', type: '', isDomain: 'false' }], providingApplication: url },
    ],
    duration: 'P1D',
  })
  const id = String(Object(registered.json).registrationId)
  t.match(await read('/admin/registrations'), { count: 1, registrations: [{ id, calls: 0, failures: 0 }] })
  const query = { entities: [{ type: 'Far', isPattern: 'false', id: 'Far1' }] }
  for (let times = 0; times < 6; times += 1) await broker.send('POST', '/v1/queryContext', query)
  const one = await broker.send('GET', `/admin/registrations/${id}`)
  t.match(one.json, {
    ...{ id, servicePath: '/', status: 'active', mode: 'all', legacy: true, expires: /Z$/ },
    contexts: [{ entities: [{ id: 'Far1', type: 'Far' }], attributes: [{ name: 'n' }], provider: /\*\*\*@127/ }],
    ...{ calls: 6, failures: 6, lastFailureReason: /./, lastCall: /Z$/ },
  })
  t.notMatch(one.text, 'hidden')
  for (const text of ['FAR1', 'far', id, String(provider.port)]) {
    t.match(await read(`/admin/registrations?text=${text}`), { count: 1 }, text)
  }
  for (const none of ['text=hidden', 'text=nothing', 'status=expired', 'service=acme']) {
    t.match(await read(`/admin/registrations?${none}`), { count: 0, registrations: [] }, none)
  }
  t.equal((await broker.send('GET', '/admin/registrations/5718a2f1c0de00112233aabb')).status, 404)
})

test('wrong parameters are named', async (t) => {
  for (const [target, text] of [
    ['receivers?limit=0', /limit is no whole number from 1 to 1000/],
    ['receivers?status=x', /unknown URI parameter status: known are limit, offset, text/],
    ['registrations?status=well', /status is none of active, inactive, expired/],
    ['alarms?kind=Fire', /kind is none of BadInput/],
  ] as const) {
    const reply = await broker.send('GET', `/admin/${target}`)
    t.match(reply, { status: 400, json: { error: 'BadRequest', description: text } }, target)
  }
})
