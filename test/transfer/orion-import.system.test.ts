import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Binary, Decimal128, Double, EJSON, Int32, Long, ObjectId, serialize } from 'bson'
import { test } from 'tap'
import { importCommand } from '../../src/data/transfer/import-command.js'
import { ran, rigelProgram } from '../offline/given-command.js'
import { RunningBroker } from '../running.js'
import { linesIn, textOf } from './given-command.js'

type Line = Readonly<Record<string, unknown>>

const entities: readonly object[] = [
  {
    _id: { id: 'Room1', type: 'Room', servicePath: '/parks' },
    attrNames: ['temperature', 'v1.level', 'position', 'seen'],
    attrs: {
      temperature: {
        type: 'Number',
        value: 21.5,
        mdNames: ['accuracy', 'a.b'],
        md: { accuracy: { type: 'Number', value: 0.1 }, 'a=b': { type: 'Text', value: 'dotted' } },
        creDate: new Double(1700000000.5),
        modDate: new Double(1700000001.25),
      },
      'v1=level()low': { type: 'cm', value: '3', creDate: new Int32(1700000000), modDate: new Int32(1700000002) },
      'v1=level()high': { type: 'cm', value: '9', creDate: 1700000000, modDate: 1700000002 },
      position: { type: 'geo:point', value: '40.4, -3.7', creDate: 1700000000, modDate: 1700000000 },
      seen: { type: 'DateTime', value: 1700000003.5, creDate: 1700000000, modDate: 1700000000 },
      plan: {
        type: 'StructuredValue',
        value: { 'x=y': [1, null, true, { deep: 'ü' }] },
        creDate: 1700000000,
        modDate: 1700000000,
      },
    },
    creDate: new Double(1700000000.5),
    modDate: Long.fromNumber(1700000010),
    location: { attrName: 'position', coords: { type: 'Point', coordinates: [-3.7, 40.4] } },
    lastCorrelator: 'c1; cbnotif=1',
    expDate: new Date('2035-01-01T00:00:00Z'),
  },
  // Of versions before 0.21: attributes and metadata as arrays, the ID in a member of its own, no service path.
  {
    _id: { id: 'Old', type: null },
    attrs: [
      { name: 'level', type: 'cm', value: '1', id: 'a', modDate: 1390000001, creDate: 1390000000 },
      { name: 'level', type: 'cm', value: '2', id: 'b', modDate: 1390000001, creDate: 1390000000 },
      { name: 'place', type: 'coords', value: '1, 2', md: [{ name: 'location', type: 'string', value: 'WSG84' }] },
    ],
    creDate: 1390000000,
    modDate: 1390000001,
    location: { attrName: 'place', coords: [2, 1] },
  },
  { _id: { id: 'Bare', servicePath: '/' }, attrNames: ['gone'], attrs: {}, creDate: 1, modDate: 1 },
  { _id: { id: 'a<b', type: 'T', servicePath: '/' }, attrs: {}, creDate: 1, modDate: 1 },
]

const ids = [
  '51756c2220be8dc1b5f415ff',
  '51756c2220be8dc1b5f41600',
  '51756c2220be8dc1b5f41601',
  '51756c2220be8dc1b5f41602',
  '51756c2220be8dc1b5f41603',
]
const id = (at: number): ObjectId => new ObjectId(ids[at])

const csubs: readonly object[] = [
  // Of NGSIv1, of an old version.
  {
    _id: id(0),
    expiration: Long.fromNumber(2000000000),
    lastNotification: new Int32(1700000000),
    throttling: new Int32(5),
    reference: 'http://127.0.0.1:9/v1',
    servicePath: '/parks/#',
    entities: [{ id: 'Room.*', type: 'Room', isPattern: 'true' }],
    attrs: ['temperature'],
    conditions: [{ type: 'ONCHANGE', value: ['temperature'] }],
    format: 'JSON',
    count: Long.fromNumber(7),
  },
  // Of NGSIv2.
  {
    _id: id(1),
    expiration: Long.MAX_VALUE,
    throttling: Long.fromNumber(-1),
    reference: 'http://127.0.0.1:9/${id}',
    servicePath: '/#',
    description: 'all of it',
    status: 'inactive',
    entities: [{ id: '.*', isPattern: 'true', type: 'T.*', isTypePattern: true }],
    attrs: ['a'],
    blacklist: true,
    metadata: ['*'],
    conditions: ['b'],
    expression: { q: 'b>1', mq: '', georel: '', geometry: '', coords: '' },
    format: 'normalized',
    custom: true,
    method: 'PUT',
    headers: { 'x-a': 'b' },
    qs: { c: '${type}' },
    json: { '＄x．y': '${b}' },
    onlyChanged: true,
    altTypes: ['entityCreate'],
    notifyOnMetadataChange: false,
    failsCounter: 2,
    lastFailure: 1700000005,
    lastFailureReason: 'Timeout was reached',
  },
  {
    _id: id(2),
    reference: 'mqtt://127.0.0.1:1883',
    topic: 'a/b',
    qos: 2,
    retain: true,
    user: 'u',
    passwd: 'p',
    servicePath: '/',
    status: 'oneshot',
    entities: [{ id: 'Room1', isPattern: 'false' }],
    attrs: [],
    conditions: [],
    format: 'keyValues',
    maxFailsLimit: 4,
  },
  {
    _id: id(3),
    reference: 'http://127.0.0.1:9/',
    servicePath: '/',
    entities: [{ id: 'E', isPattern: 'false' }],
    conditions: [],
    format: 'uniqueValues',
  },
  {
    _id: id(4),
    reference: 'http://127.0.0.1:9/',
    servicePath: '/',
    entities: [{ id: '((', isPattern: 'true' }],
    conditions: [],
  },
]

const registrations: readonly object[] = [
  {
    _id: id(0),
    expiration: 2000000000,
    servicePath: '/parks',
    format: 'JSON',
    contextRegistration: [
      {
        entities: [{ id: 'Far', type: 'Room' }],
        attrs: [{ name: 'p', type: 'bar', isDomain: 'false' }],
        providingApplication: 'http://127.0.0.1:9/v1',
      },
      { entities: [{ id: 'Far2' }], attrs: [], providingApplication: 'http://127.0.0.1:9/v1' },
    ],
  },
  {
    _id: id(1),
    expiration: Long.MAX_VALUE,
    format: 'normalized',
    fwdMode: 'query',
    description: 'cars',
    contextRegistration: [
      {
        entities: [{ id: '.*', isPattern: 'true', type: 'Car' }],
        attrs: [{ name: 'speed' }],
        providingApplication: 'http://127.0.0.1:9/v2',
      },
    ],
  },
  {
    _id: id(2),
    contextRegistration: [
      { entities: [{ id: 'C.*', isPattern: 'true' }], attrs: [], providingApplication: 'http://127.0.0.1:9/' },
    ],
  },
]

function bson(documents: readonly object[]): Buffer {
  return Buffer.concat(documents.map((document) => serialize(document)))
}

function ejson(documents: readonly object[]): string {
  return documents.map((document) => `${EJSON.stringify(document, { relaxed: false })}\n`).join('')
}

/** What a folder of mongodump holds of two tenants. */
function dump(folder: string): string {
  const path = join(folder, 'dump')
  for (const database of ['orion', 'orion-trees', 'other', 'admin', 'config'])
    mkdirSync(join(path, database), { recursive: true })
  writeFileSync(join(path, 'orion', 'entities.bson'), bson(entities))
  writeFileSync(join(path, 'orion', 'entities.metadata.json'), '{}')
  writeFileSync(join(path, 'admin', 'system.version.bson'), bson([{ _id: 'featureCompatibilityVersion' }]))
  writeFileSync(join(path, 'config', 'external_validation_keys.bson'), '')
  writeFileSync(join(path, 'orion', 'casubs.bson'), bson([{ _id: id(0) }]))
  writeFileSync(join(path, 'orion', 'csubs.bson.gz'), gzipSync(bson(csubs)))
  writeFileSync(join(path, 'orion', 'registrations.bson'), bson(registrations))
  writeFileSync(
    join(path, 'orion-trees', 'entities.bson'),
    bson([{ _id: { id: 'Oak', type: 'Tree', servicePath: '/' }, attrs: {}, creDate: 1, modDate: 2 }]),
  )
  return path
}

/** An archive of mongodump, in which parts of two collections take turns. */
function archive(): Buffer {
  const magic = Buffer.from([0x6d, 0xe2, 0x99, 0x81])
  const end = Buffer.from([0xff, 0xff, 0xff, 0xff])
  const part = (collection: string, documents: readonly object[], EOF = false): readonly Buffer[] => [
    Buffer.from(serialize({ db: 'orion', collection, EOF, CRC: Long.fromNumber(0) })),
    bson(documents),
    end,
  ]
  return Buffer.concat([
    magic,
    Buffer.from(serialize({ concurrent_collections: 4, version: '0.1', server_version: '4.4', tool_version: '100' })),
    Buffer.from(serialize({ db: 'orion', collection: 'entities', metadata: '{}', size: 1, type: 'collection' })),
    end,
    ...part('entities', entities.slice(0, 1)),
    ...part('csubs', csubs.slice(0, 1)),
    ...part('entities', entities.slice(1, 3)),
    ...part('entities', [], true),
    ...part('csubs', [], true),
    ...part('gossip', [{ _id: 1 }]),
  ])
}

async function exported(data: string): Promise<readonly Line[]> {
  return linesIn((await rigelProgram(['export', '-', '-dbPath', data])).output).filter(
    ({ kind }) => kind !== 'header' && kind !== 'end',
  )
}

test('a folder of mongodump is imported with every form that its versions have had; what cannot be kept is listed', async (t) => {
  const folder = t.testdir()
  const data = join(folder, 'data')
  const report = join(folder, 'report')
  const imported = await rigelProgram([
    'import',
    '--orion',
    dump(folder),
    '-dbPath',
    data,
    '-partitions',
    '2',
    '--report',
    report,
  ])
  t.equal(imported.code, 3, imported.errors)
  t.match(
    imported.errors,
    [
      'created: 4 entities, 4 subscriptions, 2 registrations',
      '  without a tenant: 3 entities, 4 subscriptions, 2 registrations',
      '  tenant trees: 1 entity',
      'left out as a whole: 1 entity, 1 subscription, 1 registration',
      'imported in part: 1 entity',
      'imported with changes: 1 subscription',
    ].join('\n'),
  )
  const listed = textOf(report)
  t.match(
    listed,
    /orion\/entities\.bson, document 3: entity Bare in \/: imported without attribute gone, which attrNames has/,
  )
  t.match(
    listed,
    /document 4 \(_id \{"id":"a<b","type":"T","servicePath":"\/"\}\): left out as a whole: _id\.id holds one of the characters/,
  )
  t.match(
    listed,
    /csubs\.bson\.gz, document 4: subscription 51756c2220be8dc1b5f41602: imported with a change: its format uniqueValues becomes values/,
  )
  t.match(listed, /csubs\.bson\.gz, document 5 .*: Invalid regex for entity idPattern/)
  t.match(listed, /registrations\.bson, document 3 .*: it registers entities by the pattern C\.\*/)
  t.match(listed, /casubs\.bson: subscriptions to availability are left out/)
  t.match(listed, /other: not read: the database other is none of Orion's/)
  t.equal(listed.trimEnd().split('\n').length, 7, listed)

  const lines = await exported(data)
  const of = (kind: string, key: string): Line =>
    lines.find((line) => line['kind'] === kind && line['id'] === key) ?? {}
  t.same(of('entity', 'Room1'), {
    kind: 'entity',
    servicePath: '/parks',
    id: 'Room1',
    type: 'Room',
    created: '2023-11-14T22:13:20.500Z',
    modified: '2023-11-14T22:13:30.000Z',
    correlator: 'c1',
    attributes: [
      { name: 'dateExpires', type: 'DateTime', value: 2051222400 },
      {
        name: 'plan',
        type: 'StructuredValue',
        value: { 'x.y': [1, null, true, { deep: 'ü' }] },
        created: '2023-11-14T22:13:20.000Z',
        modified: '2023-11-14T22:13:20.000Z',
      },
      {
        name: 'position',
        type: 'geo:point',
        value: '40.4, -3.7',
        location: true,
        created: '2023-11-14T22:13:20.000Z',
        modified: '2023-11-14T22:13:20.000Z',
      },
      {
        name: 'seen',
        type: 'DateTime',
        value: 1700000003.5,
        created: '2023-11-14T22:13:20.000Z',
        modified: '2023-11-14T22:13:20.000Z',
      },
      {
        name: 'temperature',
        type: 'Number',
        value: 21.5,
        metadata: [
          { name: 'a.b', type: 'Text', value: 'dotted' },
          { name: 'accuracy', type: 'Number', value: 0.1 },
        ],
        modified: '2023-11-14T22:13:21.250Z',
      },
      {
        name: 'v1.level',
        instance: 'high',
        type: 'cm',
        value: '9',
        created: '2023-11-14T22:13:20.000Z',
        modified: '2023-11-14T22:13:22.000Z',
      },
      {
        name: 'v1.level',
        instance: 'low',
        type: 'cm',
        value: '3',
        created: '2023-11-14T22:13:20.000Z',
        modified: '2023-11-14T22:13:22.000Z',
      },
    ],
  })
  t.match(of('entity', 'Old'), {
    servicePath: '/',
    type: '',
    attributes: [
      { instance: 'a', value: '1' },
      { instance: 'b', value: '2' },
      { name: 'place', location: true, metadata: undefined },
    ],
  })
  t.match(of('entity', 'Oak'), { tenant: 'trees' })
  t.match(of('subscription', ids[0] ?? ''), {
    servicePath: '/parks/#',
    entities: [{ idPattern: 'Room.*', type: 'Room' }],
    attributes: ['temperature'],
    expires: '2033-05-18T03:33:20.000Z',
    throttling_ms: 5000,
    onChange: ['temperature'],
    terms: { notification: { format: 'legacy' } },
    delivery: { sent: 7, lastNotification: '2023-11-14T22:13:20.000Z' },
  })
  const second = of('subscription', ids[1] ?? '')
  t.match(second, {
    entities: [{ idPattern: '.*', typePattern: 'T.*' }],
    attributes: ['a'],
    url: 'http://127.0.0.1:9/${id}',
    throttling_ms: 0,
    terms: {
      description: 'all of it',
      status: 'inactive',
      condition: { alterations: ['entityCreate'], onMetadata: false, expression: { q: 'b>1' } },
      notification: {
        target: { custom: { method: 'PUT', headers: { 'x-a': 'b' }, qs: { c: '${type}' }, json: { '$x.y': '${b}' } } },
        excepts: true,
        metadata: ['*'],
        onlyChanged: true,
      },
    },
    delivery: { fails: 2, lastFailureReason: 'Timeout was reached' },
  })
  t.equal(second['expires'], undefined)
  t.match(of('subscription', ids[2] ?? ''), {
    terms: {
      status: 'oneshot',
      maxFails: 4,
      notification: { target: { kind: 'mqtt', topic: 'a/b', qos: 2, retain: true, user: 'u', passwd: 'p' } },
    },
  })
  t.match(of('registration', ids[0] ?? ''), {
    servicePath: '/parks',
    contexts: [{ entities: [{ id: 'Far', type: 'Room' }] }, { provider: 'http://127.0.0.1:9/v1' }],
    terms: undefined,
  })
  t.match(of('registration', ids[1] ?? ''), {
    contexts: [{ entities: [{ everyId: true }] }],
    terms: { description: 'cars', mode: 'query', legacy: false },
  })

  const broker = await RunningBroker.startOn(t, data, ['-multiservice'])
  const room = await (await fetch(`${broker.url}/v2/entities/Room1/attrs/temperature`)).json()
  t.match(room, { value: 21.5, metadata: { 'a.b': { value: 'dotted' } } })
  const near = `${broker.url}/v2/entities?georel=near;maxDistance:10&geometry=point&coords=40.4,-3.7&attrs=position`
  t.match(await (await fetch(near)).json(), [{ id: 'Room1' }])
  t.equal((await fetch(`${broker.url}/v2/subscriptions/${ids[1]}`)).status, 200, 'it is known by its id')
})

test('files of mongoexport and archives of mongodump give the same', async (t) => {
  const folder = t.testdir()
  const bsonFile = join(folder, 'orion', 'entities.bson')
  mkdirSync(join(folder, 'orion'))
  mkdirSync(join(folder, 'json'))
  writeFileSync(bsonFile, bson(entities))
  writeFileSync(join(folder, 'json', 'entities.json'), ejson(entities.slice(0, 2)))
  writeFileSync(join(folder, 'json', 'csubs.json'), `[${ejson(csubs.slice(0, 2)).trimEnd().split('\n').join(',\n')}]\n`)
  writeFileSync(join(folder, 'archive'), gzipSync(archive()))
  const results = await Promise.all(
    [bsonFile, join(folder, 'json'), join(folder, 'archive')].map(async (source, at) => {
      const data = join(folder, `data-${at}`)
      const { errors } = await ran(importCommand, ['--orion', source, '-dbPath', data, '-partitions', '1'])
      return { errors, lines: await exported(data) }
    }),
  )
  const [file, jsonFolder, archived] = results
  t.match(file?.errors, 'created: 3 entities')
  t.match(jsonFolder?.errors, 'created: 2 entities, 2 subscriptions')
  t.match(archived?.errors, 'created: 3 entities, 1 subscription')
  t.match(archived?.errors, "not read: gossip is none of Orion's collections")
  const named = (lines: readonly Line[] | undefined): readonly Line[] =>
    lines?.filter((line) => ids.includes(String(line['id'])) || line['id'] === 'Room1') ?? []
  t.same(named(jsonFolder?.lines)[0], named(file?.lines)[0])
  t.same(named(archived?.lines), named(jsonFolder?.lines).slice(0, 2))

  const cut = bson(entities).subarray(0, -10)
  writeFileSync(bsonFile, cut)
  t.match(await ran(importCommand, ['--orion', bsonFile, '-dbPath', join(folder, 'cut'), '--dry-run']), {
    code: 3,
    errors: /the file was cut: \d+ bytes/,
  })
  t.match(await ran(importCommand, ['--orion', join(folder, 'none')]), { code: 1, errors: /none is not there/ })
  t.match(
    await ran(importCommand, ['--orion', join(folder, 'orion'), '--db', 'mine', '-dbPath', join(folder, 'mine')]),
    {
      code: 3,
    },
  )
})

test("a dump that holds no more than Orion's data ends with 0; a change is listed and is no loss", async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'dump')
  for (const database of ['orion', 'admin', 'config', 'local', 'iotagentul']) {
    mkdirSync(join(path, database), { recursive: true })
    writeFileSync(join(path, database, 'things.bson'), bson(database === 'orion' ? [] : [{ _id: 1 }]))
  }
  writeFileSync(join(path, 'orion', 'entities.bson'), bson(entities.slice(0, 2)))
  writeFileSync(join(path, 'orion', 'csubs.bson'), bson(csubs.slice(3, 4)))
  const report = join(folder, 'report')
  const words = ['--orion', path, '-dbPath', join(folder, 'data'), '-partitions', '1', '--report', report]
  const { code, errors } = await ran(importCommand, words)
  t.equal(code, 0, errors)
  const [change = '', other = '', ...more] = textOf(report).trimEnd().split('\n')
  t.match(change, /imported with a change: its format uniqueValues becomes values/)
  t.match(other, /iotagentul: not read: the database iotagentul is none of Orion's/)
  t.same(more, [])
})

test('a value that JSON does not have costs its attribute or its metadata, not the entity; a Decimal128 is a number', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'entities.bson')
  const md = {
    big: { type: 'Number', value: Decimal128.fromString('1E-2') },
    raw: { type: 'x', value: new Binary(Buffer.of(1)) },
  }
  const attrs = {
    exact: { type: 'Number', value: Decimal128.fromString('21.50'), mdNames: ['big', 'raw'], md },
    endless: { type: 'Number', value: Decimal128.fromString('Infinity') },
    'a<b': { type: 'Text', value: '1' },
    photo: { type: 'Image', value: new Binary(Buffer.of(1, 2)) },
  }
  const attrNames = Object.keys(attrs)
  writeFileSync(
    file,
    bson([{ _id: { id: 'E', type: 'T', servicePath: '/' }, attrNames, attrs, creDate: 1, modDate: 1 }]),
  )
  const data = join(folder, 'data')
  const { code, errors } = await ran(importCommand, ['--orion', file, '-dbPath', data, '-partitions', '1'])
  t.equal(code, 3, errors)
  t.match(errors, 'created: 1 entity\nimported in part: 1 entity\n')
  const reasons = errors.split('\n').flatMap((line) => /imported without (.*)/.exec(line)?.[1] ?? [])
  t.match(reasons, [
    /^an element of metadata: metadata raw of attribute exact is binary/,
    /^an attribute: attribute endless is no number: Infinity/,
    /^an attribute: the name of attribute a<b holds one of the characters/,
    /^an attribute: attribute photo is binary/,
  ])
  t.equal(reasons.length, 4)
  t.match(await exported(data), [
    { id: 'E', attributes: [{ name: 'exact', value: 21.5, metadata: [{ name: 'big', value: 0.01 }] }] },
  ])
})

test('a subscription that notifies over Kafka says so; a tenant that cannot be one is left out', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'orion'))
  mkdirSync(join(folder, 'orion-a.b'))
  writeFileSync(join(folder, 'orion-a.b', 'entities.bson'), bson(entities.slice(0, 1)))
  const kafka = { ...csubs[3], reference: 'kafka://127.0.0.1:9092', topic: 't' }
  writeFileSync(join(folder, 'orion', 'csubs.bson'), bson([kafka]))
  const words = ['--orion', folder, '-dbPath', join(folder, 'data'), '-partitions', '1']
  const { code, errors } = await ran(importCommand, words)
  t.equal(code, 3)
  t.match(errors, 'left out as a whole: 1 subscription')
  t.match(errors, /left out as a whole: it notifies over Kafka, which Rigel does not have/)
  t.match(errors, /orion-a\.b: left out, since a tenant cannot have the characters of orion-a\.b/)
})
