import { t as root, test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { needsTrust } from '../../src/http/management-access.js'
import { type Reply, RunningBroker } from '../running.js'
import { type Described, described, exampleIn, responseTo, targetOf, undescribed } from './given-description.js'

const givenId = /[0-9a-f]{24}/
const token = 'a-token-of-the-management'
const authorized = { Authorization: `Bearer ${token}` }
const broker = await RunningBroker.start(root, ['-multiservice', '-adminToken', token, '-statCounters'])

/** What the broker has given for the ids of the examples. */
const ids = new Map<string, string>()

/** A text of an example with the ids that the broker has given. */
function withIds(text: string): string {
  return text.replace(new RegExp(givenId, 'g'), (id) => ids.get(id) ?? id)
}

/** What is sent in place of the example. */
interface Change {
  readonly verb?: string
  readonly target?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends the example of an operation. */
function send(each: Described, { verb, target, body, headers = {} }: Change = {}): Promise<Reply> {
  const { method, operation } = each
  const [type, example] = exampleIn(operation.requestBody?.content) ?? []
  const text = typeof example === 'string' ? example : withIds(JSON.stringify(example) ?? '')
  const sent = body ?? (type === undefined ? undefined : text)
  return broker.send(verb ?? method.toUpperCase(), target ?? targetOf(each, withIds), sent === '' ? undefined : sent, {
    ...authorized,
    ...(type !== undefined && sent !== '' && { 'Content-Type': type }),
    ...headers,
  })
}

/** Remembers which id the broker has given where the example of the response has one. */
function remember(each: Described, { status, headers, text }: Reply): void {
  const example = givenId.exec(JSON.stringify(responseTo(each, status) ?? ''))?.[0]
  const id = givenId.exec(headers.get('location') ?? text)?.[0]
  if (example !== undefined && id !== undefined && !ids.has(example)) ids.set(example, id)
}

test('every example works, and every response is as it is described', async (t) => {
  const removals = described.filter(({ method }) => method === 'delete').toReversed()
  // Streams do not end, and what is confirmed has to be read from one: `test/listening.test.ts` does that.
  // This broker is of no cluster: `test/cluster/shown-cluster.system.test.ts` looks at one that is.
  const elsewhere = (path: string): boolean => path.endsWith('/events') || path.startsWith('/admin/cluster')
  const others = described.filter(({ method, path }) => method !== 'delete' && !elsewhere(path))
  for (const each of [...others, ...removals]) {
    const { operationId } = each.operation
    const reply = await send(each)
    t.ok(reply.status < 300, `${operationId}: ${reply.status} ${reply.text}`)
    t.equal(undescribed(each, reply), '', operationId)
    // What two removals share is gone after the first one, and nobody has the ids that stand for nothing.
    const isGone = each.method === 'delete' || operationId.startsWith('unsubscribe')
    // The description itself shows such codes.
    if (!isGone && operationId !== 'showDescription') t.notMatch(reply.text, /"code":"[45]/, operationId)
    remember(each, reply)
  }
})

test('an update whose provider is down has the header that says so, as it is described', async (t) => {
  const port = await freePort()
  const registered = await broker.send('POST', '/v2/registrations', {
    dataProvided: { entities: [{ id: 'Gate1', type: 'Gate' }, { id: 'Gate1' }] },
    provider: { http: { url: `http://127.0.0.1:${port}` } },
  })
  t.equal(registered.status, 201)
  const v2Attribute = { value: 1, type: 'Number' }
  const v1Attribute = { name: 'open', type: 'Number', value: '1' }
  const given: Readonly<Record<string, Omit<Change, 'verb'>>> = {
    updateAttributes: { target: '/v2/entities/Gate1/attrs?type=Gate', body: JSON.stringify({ open: v2Attribute }) },
    replaceAttributes: { target: '/v2/entities/Gate1/attrs?type=Gate', body: JSON.stringify({ open: v2Attribute }) },
    updateAttribute: { target: '/v2/entities/Gate1/attrs/open?type=Gate', body: JSON.stringify(v2Attribute) },
    updateValue: { target: '/v2/entities/Gate1/attrs/open/value?type=Gate', body: '1' },
    updateBatch: {
      body: JSON.stringify({ actionType: 'update', entities: [{ id: 'Gate1', type: 'Gate', open: v2Attribute }] }),
    },
    updateContext: {
      body: JSON.stringify({
        updateAction: 'UPDATE',
        contextElements: [{ id: 'Gate1', type: 'Gate', attributes: [v1Attribute] }],
      }),
    },
    updateEntityOfId: { target: '/v1/contextEntities/Gate1' },
    updateEntityOfIdWithAttributes: { target: '/v1/contextEntities/Gate1/attributes' },
    updateAttributeOfId: { target: '/v1/contextEntities/Gate1/attributes/open' },
    updateAttributeInstanceOfId: { target: '/v1/contextEntities/Gate1/attributes/open/north' },
    updateEntityOfTypeAndId: { target: '/v1/contextEntities/type/Gate/id/Gate1' },
    updateAttributeOfTypeAndId: { target: '/v1/contextEntities/type/Gate/id/Gate1/attributes/open' },
    updateAttributeInstanceOfTypeAndId: { target: '/v1/contextEntities/type/Gate/id/Gate1/attributes/open/north' },
  }
  const failed = new Set<string>()
  for (const each of described) {
    const { operationId } = each.operation
    const change = given[operationId]
    if (change === undefined) continue
    const reply = await send(each, change)
    t.equal(undescribed(each, reply), '', operationId)
    if (reply.headers.get('rigel-forwarding-error') === `http://127.0.0.1:${port}/: connection refused`)
      failed.add(operationId)
  }
  t.same([...failed].toSorted(), Object.keys(given).toSorted())
})

/** Requests that no operation carries out, by what is wrong with them. */
const mistakes: Readonly<Record<string, Change>> = {
  'nothing is acceptable': { headers: { Accept: 'image/png' } },
  'text is all that is accepted': { headers: { Accept: 'text/plain' } },
  'a malformed service path': { headers: { 'Fiware-ServicePath': 'north' } },
  'a malformed tenant': { headers: { 'Fiware-Service': 'a-b' } },
  'no body': { body: '' },
  'a body that is no JSON': { body: '{' },
  'a body of another type': { body: 'x', headers: { 'Content-Type': 'text/csv' } },
  'an empty object': { body: '{}' },
  'an unknown member': { body: '{"colour":"green"}' },
  'a body over the limit': { body: JSON.stringify('x'.repeat(2 ** 20)) },
  'a wrong token': { headers: { Authorization: 'Bearer x' } },
}

test('whatever is wrong with a request, its response is as it is described', async (t) => {
  const statuses = new Set<number>()
  for (const each of described) {
    const { operation, path } = each
    const plain = targetOf(each, withIds).split('?')[0] ?? ''
    const changes: Readonly<Record<string, Change>> = {
      ...mistakes,
      'wrong parameters': { target: `${plain}?limit=x&options=x&level=x&counters=x` },
      'a target over the limit': { target: `${plain}?x=${'x'.repeat(40_000)}` },
      'an unknown thing': { target: path.replace(/\{\w+\}/g, 'Unknown1') },
    }
    for (const [what, change] of Object.entries(changes)) {
      if (change.body !== undefined && operation.requestBody === undefined) continue
      const reply = await send(each, change)
      statuses.add(reply.status)
      t.equal(undescribed(each, reply), '', `${operation.operationId}: ${what}`)
    }
  }
  for (const status of [400, 401, 404, 406, 411, 413, 414, 415]) t.ok(statuses.has(status), `${status} came`)
})

test('the methods that a path has are those of its Allow header, under all its names', async (t) => {
  for (const { path, aliases } of described) {
    const methods = described.filter((each) => each.path === path).map(({ method }) => method.toUpperCase())
    for (const name of [path, ...aliases]) {
      const reply = await broker.send('PURGE', name.replace(/\{\w+\}/g, '1'), undefined, authorized)
      t.equal(reply.status, 405, name)
      t.same(reply.headers.get('allow')?.split(', ').toSorted(), methods.toSorted(), name)
    }
  }
})

test('without a token what shows stored data or changes something is 403 for others, as it is described', async (t) => {
  const open = await RunningBroker.start(t)
  let forbidden = 0
  for (const each of described) {
    const { method, path, operation } = each
    if (!needsTrust(path, method.toUpperCase())) continue
    const headers = { 'X-Forwarded-For': '203.0.113.9' }
    const reply = await open.send(
      method.toUpperCase(),
      targetOf(each, (example) => example),
      undefined,
      headers,
    )
    t.equal(reply.status, 403, operation.operationId)
    t.equal(undescribed(each, reply), '', operation.operationId)
    t.strictSame(reply.json, exampleIn(responseTo(each, 403)?.content)?.[1], operation.operationId)
    forbidden += 1
  }
  t.ok(forbidden > 15, `${forbidden} operations`)
})
