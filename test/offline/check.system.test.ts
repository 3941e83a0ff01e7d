import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t as root, test } from 'tap'
import { type Environment, openEnvironment } from '../../src/storage/environment/environment.js'
import { bytesAt, overwritten } from '../lmdb/given-folder.js'
import { asNobody, withoutNobody } from '../nobody.js'
import { RunningBroker } from '../running.js'
import { rigel, rigelProgram } from './given-command.js'

const folder = root.testdir()
/** A sound folder without logs, in which something can be damaged. */
const sound = join(folder, 'sound')

const broker = await RunningBroker.startOn(root, join(folder, 'data'), ['-partitions', '1', '-multiservice'])
await (async () => {
  const inTenant = { 'Fiware-Service': 'north' }
  for (let n = 0; n < 300; n += 1) {
    const entity = {
      id: `Tank${n}`,
      type: n % 2 === 0 ? 'Tank' : 'Silo',
      level: { value: n, type: 'Number' },
      location: { value: `${n % 80}, 4`, type: 'geo:point' },
      ...(n % 10 === 0 && { dateExpires: { value: '2099-01-01T00:00:00Z', type: 'DateTime' } }),
    }
    await broker.send('POST', '/v2/entities', entity, n % 3 === 0 ? inTenant : {})
  }
  // Nobody takes the notifications; the long ones are stored as groups that show the entity.
  for (let n = 0; n < 3; n += 1) {
    await broker.send('POST', '/v1/subscribeContext', {
      entities: [{ type: 'Page', isPattern: 'true', id: '.*' }],
      reference: `http://127.0.0.1:9/nobody${n}`,
      notifyConditions: [{ type: 'ONCHANGE' }],
    })
  }
  for (const length of [50_000, 10]) {
    const attributes = [{ name: 'text', type: 'Text', value: 'x'.repeat(length) }]
    await broker.update('APPEND', { id: `Page${length}`, type: 'Page', attributes })
  }
  await broker.send('POST', '/v1/registry/registerContext', {
    contextRegistrations: [
      {
        entities: [{ id: 'Far', type: 'Tank', isPattern: 'false' }],
        attributes: [],
        providingApplication: 'http://127.0.0.1:9/v1',
      },
    ],
    duration: 'P1D',
  })
  const backup = join(folder, 'backup')
  if ((await rigel('backup', backup, '--url', broker.url)).code !== 0) throw new Error('there is no backup')
  await rigel('restore', backup, '-dbPath', sound)
})()

test('a sound folder has no findings, after a hard end under load as well', async (t) => {
  t.match(await rigelProgram(['check', '-dbPath', sound]), {
    code: 0,
    output: /: sound: 302 entities in 1 partition, \d+ records? of notifications, 3 subscriptions, 1 registration, /,
  })
  t.match(await rigel('check', '-dbPath', broker.folder), { code: 2, errors: /in use by another broker/ })
  const updates = Array.from({ length: 400 }, (_, n) =>
    broker.send('PATCH', `/v2/entities/Tank${n % 300}/attrs`, { level: { value: n } }).catch(() => undefined),
  )
  await Promise.any(updates)
  await broker.end('SIGKILL')
  await Promise.all(updates)
  t.match(await rigel('check', '-dbPath', broker.folder), { code: 0, output: /: sound/ })
  t.match(await rigel('check'), { code: 2, errors: /needs either/ })
  t.match(await rigel('check', '-dbPath', join(folder, 'nowhere')), { code: 2, errors: /is not there/ })
})

/** The first key of a database, and its value. */
function first(environment: Environment, name: Exclude<keyof Environment, 'root'>) {
  for (const { key, value } of environment[name].getRange({ limit: 1 }))
    return { key: Array.isArray(key) ? key : [key], value }
  throw new Error(`${name} is empty`)
}

type Planted = readonly [what: string, plant: (environment: Environment) => void, finding: RegExp]

/** Removes the first entry of a database. */
function without(name: Exclude<keyof Environment, 'root'>): (environment: Environment) => void {
  return (environment) => void environment[name].removeSync(first(environment, name).key)
}

const planted: readonly Planted[] = [
  ['an entry of ids less', without('ids'), /data.mdb ids \[.*: the entry of the record .* is missing/],
  ['an entry of types less', without('types'), /types \[.*: the entry of the record .* is missing/],
  ['an expiration less', without('expirations'), /expirations \[.*is missing/],
  ['a cell less', without('cells'), /cells \[.*is missing/],
  ['a record less', without('records'), /ids \[.*: the entry names the record .*, which is not there/],
  ['a count less', without('counts'), /counts \[.*: the count is missing, which is \d+/],
  ['a type of an attribute less', without('attributeTypes'), /attributeTypes \[.*: the count is missing/],
  [
    'an entity that is shown less',
    (environment) => void environment.shown.removeSync(first(environment, 'shown').key),
    /groups \[\d+\]: the entity that it shows is not there/,
  ],
  ['a group less', without('groups'), /shown \[\d+,"groups"\]: \d+ groups are counted instead of 0/],
  [
    'a wrong count',
    ({ counts, ...all }) => counts.putSync(first({ counts, ...all }, 'counts').key, '77'),
    /counts \[.*: the count is 77 instead of \d+/,
  ],
  [
    'a count of nothing',
    ({ counts }) => counts.putSync(['', '/', 'Nothing'], '1'),
    /counts \["","\/","Nothing"\]: the count is 1 instead of 0/,
  ],
  [
    'an entry of ids more',
    ({ ids }) => ids.putSync(['', 'Tank1', '/', 'Other'], '1'),
    /ids \["","Tank1","\/","Other"\]: /,
  ],
  [
    'a cell more',
    ({ cells }) => cells.putSync(['', 3, 3, 999_999], '/ Nobody'),
    /cells \["",3,3,999999\]: the entry names the record/,
  ],
  [
    'a record that is none',
    ({ records, ...all }) => records.putSync(first({ records, ...all }, 'records').key, '{"no'),
    /records \[.*: the record cannot be read/,
  ],
  [
    'a record of another',
    ({ records, ...all }) => records.putSync(['', 888_888], first({ records, ...all }, 'records').value),
    /records \["",888888\]: the record is that of sequence/,
  ],
  ['a lower highest sequence', ({ facts }) => facts.putSync(['place'], '1'), /its sequence is higher than the highest/],
  [
    'a lower last notice',
    ({ facts }) => facts.putSync(['notice'], '0'),
    /its number.* beyond the last that was given|its number is higher/,
  ],
  [
    'a notice that is none',
    ({ notices, ...all }) => notices.putSync(first({ notices, ...all }, 'notices').key, 'nothing'),
    /notices \[\d+\]: the notice cannot be read/,
  ],
  [
    'delivery stats that are none',
    ({ deliveryStats }) => deliveryStats.putSync(['5718a2f1c0de00112233aabb'], '[]'),
    /deliveryStats: .* are no delivery stats/,
  ],
  [
    'a mark of another folder',
    ({ facts }) => facts.putSync(['member'], 'another partition-0'),
    /belongs to another data folder/,
  ],
]

/** Some would hide others, which are planted apart from them. */
const apart = new Map([
  ['a record less', 1],
  ['a lower highest sequence', 1],
  ['a lower last notice', 1],
  ['a group less', 2],
  ['a record that is none', 2],
  ['a notice that is none', 2],
  ['a wrong count', 2],
  ['a mark of another folder', 3],
])

test('each kind of damage is found, with file and key', async (t) => {
  for (const group of [0, 1, 2, 3]) {
    const damages = planted.filter(([what]) => (apart.get(what) ?? 0) === group)
    const data = join(folder, `damaged-${group}`)
    cpSync(sound, data, { recursive: true })
    // Without them the file is what it is: a copy.
    for (const name of ['log', 'checkpoint']) rmSync(join(data, 'partition-0', name), { recursive: true, force: true })
    const settings = { readOnly: false, sizeMax_bytes: 2 ** 28, maxReaders: 64 }
    const environment = openEnvironment(join(data, 'partition-0'), settings, true)
    environment.root.transactionSync(() => {
      for (const [, plant] of damages) plant(environment)
    })
    await environment.root.close()
    const { code, output, errors } = await rigel('check', '-dbPath', data)
    t.equal(code, 1, errors)
    for (const [what, , finding] of damages) t.match(output, finding, what)
    t.match(output, /: \d+ findings?/)
  }
})

test('damage of files is found before anything opens them', async (t) => {
  const data = join(folder, 'flipped')
  cpSync(sound, data, { recursive: true })
  for (const member of ['partition-0', 'control']) {
    const file = join(data, member, 'data.mdb')
    // All pages but those of the begin, some of which nothing refers to any more.
    overwritten(
      file,
      4096 * 2,
      bytesAt(file, 4096 * 2, statSync(file).size - 4096 * 2).map((byte) => ~byte),
    )
  }
  rmSync(join(data, 'control', 'checkpoint'))
  rmSync(join(data, 'control', 'log'), { recursive: true })
  const { code, output } = await rigel('check', '-dbPath', data)
  t.equal(code, 1)
  t.match(output, /partition-0\/data.mdb: page \d+ is not the one that belongs there/)
  t.match(output, /control\/data.mdb: page \d+ is not the one that belongs there/)
  writeFileSync(join(data, 'format.json'), '{')
  t.match(await rigel('check', '-dbPath', data), { code: 2, errors: /format.json is damaged/ })
})

test('a metadata store that cannot be read is found', async (t) => {
  const data = join(folder, 'control')
  cpSync(sound, data, { recursive: true })
  for (const name of ['log', 'checkpoint']) rmSync(join(data, 'control', name), { recursive: true, force: true })
  const { openDatabase, openRoot } = await import('../../src/storage/environment/environment.js')
  const store = openRoot(join(data, 'control'), { readOnly: false, sizeMax_bytes: 2 ** 28, maxReaders: 64 }, true)
  openDatabase(store, 'subscriptions').putSync(['5718a2f1c0de00112233aabb'], '{"id":"another"}')
  openDatabase(store, 'registrations').putSync(['5718a2f1c0de00112233aabc'], 'no')
  openDatabase(store, 'ticks').putSync(['5718a2f1c0de00112233aabb'], 'soon')
  await store.close()
  const { code, output } = await rigel('check', '-dbPath', data)
  t.equal(code, 1)
  t.match(
    output,
    /subscriptions \["5718a2f1c0de00112233aabb"\]: the subscription cannot be read \(it is that of subscription another\)/,
  )
  t.match(output, /registrations \["5718a2f1c0de00112233aabc"\]: the registration cannot be read/)
  t.match(output, /ticks .*soon is no number/)
  t.ok(readFileSync(join(data, 'format.json')))
})

test('what the user may not read is not reported as missing, and is no damage', { skip: withoutNobody }, async (t) => {
  const [backup, data] = [join(folder, 'backup'), join(folder, 'closed')]
  cpSync(sound, data, { recursive: true })
  const closed = [backup, data]
  for (const each of closed) chmodSync(each, 0)
  t.teardown(() => {
    for (const each of closed) chmodSync(each, 0o700)
  })
  const mayNot = /the user of this process may not: .*\(EACCES\)/
  for (const [words, code] of [
    [['check', backup], 2],
    [['check', '-dbPath', data], 2],
    [['restore', backup, '-dbPath', join(folder, 'restored')], 1],
    [['backup', join(folder, 'another'), '-dbPath', data], 1],
    [['export', '-', '-dbPath', data], 1],
    [['reshard', '-partitions', '2', '-dbPath', data], 1],
    [['import', '/dev/null', '--dry-run', '-dbPath', data], 1],
  ] as const) {
    t.match(await rigelProgram(words, '', asNobody), { code, output: '', errors: mayNot }, words.join(' '))
  }
})

test('a file of locks that the user may not write is named, and is no damage', { skip: withoutNobody }, async (t) => {
  const data = join(folder, 'partly closed')
  cpSync(sound, data, { recursive: true })
  const file = join(data, 'partition-0', 'lock.mdb')
  chmodSync(file, 0o400)
  if (asNobody.length > 0) {
    spawnSync('chown', ['-R', '65534:65534', data])
    chownSync(file, 0, 0)
  }
  const mayNot = /partition-0\/lock\.mdb cannot be opened: the user of this process may not: .*\(EACCES\)/
  for (const [words, code] of [
    [['check', '-dbPath', data], 2],
    [['backup', join(folder, 'a third'), '-dbPath', data], 1],
    [['export', '-', '-dbPath', data], 1],
    [['reshard', '-partitions', '2', '-dbPath', data], 1],
  ] as const) {
    t.match(await rigelProgram(words, '', asNobody), { code, output: '', errors: mayNot }, words.join(' '))
  }
})
