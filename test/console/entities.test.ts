import { t as root, test } from 'tap'
import { RunningBroker } from '../running.js'

const broker = await RunningBroker.start(root, ['-multiservice', '-partitions', '11'])

/** Hostile as text, and harmless as JSON. */
const hostile = '\u202e<img src=x onerror=alert(1)> javascript:alert(1)'

interface Found {
  readonly [name: string]: unknown
}

async function read(path: string): Promise<Found> {
  const reply = await broker.send('GET', path)
  root.equal(reply.status, 200, `${path}: ${reply.text.slice(0, 300)}`)
  return Object(reply.json)
}

function listOf(found: Found, name: string): readonly Found[] {
  return Array.from(Object(found[name]), (each) => Object(each))
}

async function store(entities: readonly object[], headers: Record<string, string> = {}): Promise<void> {
  const reply = await broker.send('POST', '/v2/op/update', { actionType: 'append', entities }, headers)
  if (reply.status !== 204) throw new Error(reply.text)
}

const number = (value: number) => ({ type: 'Number', value })
const point = (longitude: number, latitude: number) => ({ type: 'geo:point', value: `${latitude},${longitude}` })

const buses = Array.from({ length: 60 }, (_, at) => ({
  ...{ id: `urn:bus:${String(at).padStart(3, '0')}`, type: 'Bus', speed: number(at) },
  position: point(-10 + at / 3, 40 + at / 10),
}))
const stops = Array.from({ length: 30 }, (_, at) => ({
  id: `urn:stop:${at}`,
  type: 'Stop',
  name: { value: `n${at}`, type: 'Text' },
}))
await store(buses)
await store(stops, { 'Fiware-ServicePath': '/city/north' })
await store([{ id: 'Other1', type: 'Bus', speed: number(1) }], { 'Fiware-Service': 'acme' })
const polygon = {
  type: 'Polygon',
  coordinates: [
    [
      [1, 1],
      [1, 9],
      [9, 9],
      [9, 1],
      [1, 1],
    ],
  ],
}
await store([{ id: 'Zone1', type: 'Zone', shape: { type: 'geo:json', value: polygon } }])

/** All ids that the pages of a search have, page after page, and how many pages that were. */
async function idsOf(search: string, limit = 7): Promise<{ readonly ids: readonly string[]; readonly pages: number }> {
  const ids: string[] = []
  let after = ''
  for (let pages = 1; ; pages += 1) {
    const page = await read(`/admin/entities?limit=${limit}&${search}${after}`)
    const rows = listOf(page, 'entities')
    root.ok(rows.length <= limit)
    ids.push(...rows.map(({ id }) => String(id)))
    const { next } = page
    if (next === undefined) return { ids, pages }
    after = `&after=${String(next)}`
  }
}

test('pages go on from where the last one ended: everything once, in the order of creation, of ids or of places', async (t) => {
  const all = await idsOf('')
  t.equal(all.ids.length, 91)
  t.equal(new Set(all.ids).size, 91)
  t.same(
    all.ids.slice(0, 60),
    buses.map(({ id }) => id),
  )
  t.ok(all.pages >= 13)
  t.same(
    (await idsOf('prefix=urn:bus:')).ids,
    buses.map(({ id }) => id),
  )
  t.same([...(await idsOf('prefix=urn:bus:01')).ids].length, 10)
  t.same((await idsOf('type=Stop', 1000)).ids.length, 30)
  t.same((await idsOf('type=Stop&path=/city/%23')).ids.length, 30)
  t.same((await idsOf('path=/city')).ids.length, 0)
  t.same((await idsOf('pattern=bus:.5%24')).ids, [])
  t.same((await idsOf('pattern=bus:..5%24')).ids.length, 6)
  t.same((await idsOf('attribute=name&prefix=urn:')).ids.length, 30)
  t.same((await idsOf('attribute=name')).ids.length, 30)
  t.same((await idsOf('service=acme')).ids, ['Other1'])
  t.same((await idsOf('prefix=%C3%A9')).ids, [])
})

test('an area has what lies in it, wholly or partly, each once', async (t) => {
  const inArea = await idsOf('area=-10,40,0,43')
  const expected = buses.filter((_, at) => -10 + at / 3 <= 0 && 40 + at / 10 <= 43)
  t.same(
    [...inArea.ids].toSorted(),
    expected.map(({ id }) => id),
  )
  t.same((await idsOf('area=2,2,3,3')).ids, ['Zone1'])
  t.same((await idsOf('area=0,0,10,10')).ids, ['Zone1'])
  t.same((await idsOf('area=20,20,30,30')).ids, [])
  t.equal((await idsOf('area=-180,-90,180,90')).ids.length, 61)
  t.equal((await idsOf('area=-180,-90,180,90&type=Bus&prefix=urn:bus:00')).ids.length, 10)
})

test('a row has dates, names and a place, and the first page says how many there are', async (t) => {
  const first = await read('/admin/entities?type=Bus&limit=2')
  t.match(first, {
    entities: [
      {
        ...{ id: 'urn:bus:000', type: 'Bus', servicePath: '/', created: /Z$/, modified: /Z$/ },
        ...{ attributes: 2, names: ['position', 'speed'], location: [-10, 40] },
      },
    ],
    total: { count: 60, exact: true },
  })
  const second = await read(`/admin/entities?type=Bus&limit=2&after=${String(first['next'])}`)
  t.equal(second['total'], undefined)
  t.match((await read('/admin/entities?attribute=name&limit=1'))['total'], { count: 30, exact: true })
  t.match((await read('/admin/entities?prefix=Zone'))['total'], { count: 1, exact: true })
  t.equal((await read('/admin/entities?type=Bus&limit=2&total=off'))['total'], undefined)
})

test('points are where entities are, thinned out evenly where there are more than may be shown', async (t) => {
  const all = Array.from(Object((await read('/admin/entities/points'))['points']), Number)
  t.equal(all.length, 2 * (60 + 1))
  for (const { position } of buses) {
    const [latitude = 0, longitude = 0] = position.value.split(',').map(Number)
    const isThere = all.some(
      (value, at) =>
        at % 2 === 0 && Math.abs(value - longitude) < 1e-5 && Math.abs((all[at + 1] ?? 0) - latitude) < 1e-5,
    )
    t.ok(isThere, position.value)
  }
  t.match(await read('/admin/entities/points?type=Bus'), { beyond: 0, points: { length: 120 } })
  t.match(await read('/admin/entities/points?type=Stop'), { beyond: 0, points: { length: 0 } })
  t.match(await read('/admin/entities/points?service=acme'), { beyond: 0, points: [] })
  const some = await read('/admin/entities/points?area=-10,40,10,47&limit=10')
  const shown = Array.from(Object(some['points']), Number).length / 2
  t.ok(shown >= 5 && shown <= 10, `${shown}`)
  t.ok(Number(some['beyond']) >= 40)
  const few = await read('/admin/entities/points?area=-10,40,10,47&limit=10&type=Bus')
  t.ok(Number(few['beyond']) > 0)
})

test('of many partitions as many are read as give about the points that may be shown', async (t) => {
  const found = await read('/admin/entities/points?limit=50')
  const shown = Array.from(Object(found['points']), Number).length / 2
  const beyond = Number(found['beyond'])
  t.ok(shown > 20 && shown <= 50, `${shown} are shown`)
  t.ok(beyond > 0 && Math.abs(shown + beyond - 61) < 20, `${beyond} beyond, about`)
})

test('tenants and types are counted, by tenant and path', async (t) => {
  t.same(await read('/admin/tenants'), {
    count: 2,
    tenants: [
      { service: '', entities: 91, types: 3, servicePaths: 2 },
      { service: 'acme', entities: 1, types: 1, servicePaths: 1 },
    ],
  })
  const types = await read('/admin/types')
  t.match(types, { count: 4, entities: 92 })
  t.same(listOf(types, 'types')[0], {
    ...{ service: '', servicePath: '/', type: 'Bus', entities: 60 },
    ...{ attributes: { position: 60, speed: 60 }, attributeNames: 2 },
  })
  t.match(await read('/admin/types?service=acme'), { count: 1, types: [{ type: 'Bus', entities: 1 }] })
  t.match(await read('/admin/types?path=/city/%23&service='), { count: 1, types: [{ type: 'Stop', entities: 30 }] })
  t.match(await read('/admin/types?text=ZON'), { count: 1 })
  t.match(await read('/admin/types?limit=1&offset=1'), { count: 4, types: [{ type: 'Stop' }] })
})

test('one entity is shown whole: each instance, metadata, dates, and whom it concerns', async (t) => {
  const element = (value: string, id: string) => {
    const metadatas = [
      { name: 'ID', type: 'string', value: id },
      { name: 'unit', type: '', value: 'm' },
    ]
    return { name: 'level', type: 'float', value, metadatas }
  }
  const slashed = { type: 'Tank', isPattern: 'false', id: 'Slash/1', attributes: [] }
  const contextElements = [
    slashed,
    { type: 'Tank', isPattern: 'false', id: 'Tank1', attributes: [element('1', 'low'), element('9', 'high')] },
  ]
  const stored = await broker.send('POST', '/v1/updateContext', { contextElements, updateAction: 'APPEND' })
  t.match(stored.text, '"code":"200"')
  await store([{ id: 'Tank1', type: 'Tank', html: { type: 'TextUnrestricted', value: hostile } }])
  const subscription = {
    subject: { entities: [{ idPattern: '^Tank' }] },
    notification: { http: { url: 'http://127.0.0.1:9/' } },
  }
  await broker.send('POST', '/v2/subscriptions', subscription)
  const [{ id: subscribed } = {}] = Array.from(Object((await broker.send('GET', '/v2/subscriptions')).json), (each) =>
    Object(each),
  )
  await broker.send('POST', '/v2/registrations', {
    dataProvided: { entities: [{ id: 'Tank1', type: 'Tank' }], attrs: ['far'] },
    provider: { http: { url: 'http://127.0.0.1:9/v2' } },
  })
  const whole = await broker.send('GET', '/admin/entities/Tank1?type=Tank')
  t.match(whole.headers.get('content-type'), 'application/json')
  t.match(whole.json, {
    entities: [
      {
        ...{ id: 'Tank1', type: 'Tank', service: '', servicePath: '/', created: /Z$/, modified: /Z$/ },
        attributes: [
          { name: 'html', instance: '', value: hostile },
          { name: 'level', instance: 'high', value: '9', metadata: [{ name: 'unit', value: 'm' }], created: /Z$/ },
          { name: 'level', instance: 'low', type: 'float', value: '1', isLocation: false },
        ],
        subscriptions: { count: 1, ids: [subscribed] },
        registrations: [{ id: /^[0-9a-f]{24}$/, provider: 'http://127.0.0.1:9/v2' }],
      },
    ],
    more: 0,
  })
  t.match(await read('/admin/entities/Slash%2F1'), { entities: [{ id: 'Slash/1', attributes: [] }] })
  t.match(await read('/admin/entities/urn:bus:001'), { entities: [{ subscriptions: { count: 0 }, registrations: [] }] })
  for (const none of ['None', 'Tank1?type=Other', 'Tank1?service=acme', 'urn:stop:1?path=/']) {
    t.equal((await broker.send('GET', `/admin/entities/${none}`)).status, 404, none)
  }
})

test('a text of a megabyte is shown as it is, and pages with such entities end where they get too large', async (t) => {
  const long = 'x'.repeat(900_000)
  for (const id of ['Long1', 'Long2', 'Long3']) {
    await store([{ id, type: 'Long', text: { type: 'TextUnrestricted', value: long } }], { 'Fiware-Service': 'long' })
  }
  const whole = Object(await read('/admin/entities/Long1?service=long'))
  t.equal(whole.entities[0].attributes[0].value, long)
  t.same((await idsOf('service=long')).ids, ['Long1', 'Long2', 'Long3'])
})

test('a parameter that is wrong is named, with what is right', async (t) => {
  for (const [target, text] of [
    ['entities?limit=1001', /limit is no whole number from 1 to 1000/],
    ['entities?offset=1', /unknown URI parameter offset: known are service, type/],
    ['entities?pattern=(', /pattern is no regular expression/],
    ['entities?pattern=x{1000}{1000}', /pattern is no regular expression, or too large/],
    ['entities?path=a', /path: Only/],
    ['entities?path=/a,/b', /one path is asked for/],
    ['entities?area=1,2,3', /area is not west,south,east,north/],
    ['entities?area=10,0,-10,5', /area is not/],
    ['entities?area=0,0,1e9,5', /area is not/],
    ['entities?after=x', /after is none that a page gave/],
    [`entities?after=${Buffer.from('["id","a",{},1]').toString('base64url')}`, /after is none/],
    ['entities?service=a-b', /service: bad character/],
    ['entities/points?limit=10001', /from 1 to 10000/],
    ['entities/Tank1?text=x', /unknown URI parameter text/],
    ['types?limit=x', /limit is no whole number/],
    ['tenants?service=x', /unknown URI parameter service/],
  ] as const) {
    const reply = await broker.send('GET', `/admin/${target}`)
    t.match(reply, { status: 400, json: { error: 'BadRequest', description: text } }, target)
  }
})
