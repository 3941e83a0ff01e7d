import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer, request } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { join } from 'node:path'
import { t as root, test } from 'tap'
import { Header, type HeaderData } from 'tar/header'
import { shardOf } from '../../src/hash.js'
import { itsKey, unknownCertificate } from '../delivery/certificate.js'
import { ThreadKiller, withDebugger } from '../faults/thread-killer.js'
import { overwritten } from '../lmdb/given-folder.js'
import { type Reply, RunningBroker } from '../running.js'
import { mayMount, smallDisk } from '../small-disk.js'
import { until } from '../until.js'
import { begun, rigel, rigelProgram } from './given-command.js'

const partitions = 2
/** Each is a backup and a broker on what was restored of it. */
const isLong = process.env['RIGEL_FAULTS'] !== undefined
const rounds = isLong ? 5 : 1
const folder = root.testdir()
const broker = await RunningBroker.startOn(
  root,
  join(folder, 'data'),
  ['-partitions', `${partitions}`, '-httpThreads', '2', '-logLevel', 'INFO'],
  { nodeOptions: withDebugger },
)

/** The first ids of a name that belong to a partition. */
function idsOf(name: string, partition: number, count: number): readonly string[] {
  const ids: string[] = []
  for (let n = 0; ids.length < count; n += 1)
    if (shardOf('', `${name}${n}`, partitions) === partition) ids.push(`${name}${n}`)
  return ids
}

function written(to: RunningBroker, id: string, count: number): Promise<Reply> {
  const attributes = [{ name: 'count', type: 'Number', value: String(count) }]
  return to.update('APPEND', { id, type: 'Counter', attributes })
}

async function countOf(on: RunningBroker, id: string): Promise<number> {
  const { json } = await on.send('GET', `/v1/contextEntities/${id}/attributes/count`)
  const { attributes: [attribute] = [] } = json as { attributes?: { value: string }[] }
  return Number(attribute?.value ?? Number.NaN)
}

/** Writes one counter, and after its response the other one, for as long as `goesOn` says so. */
class Writer {
  /** What was answered. */
  acknowledged = 0
  readonly first: string
  readonly second: string

  constructor(first: string, second: string) {
    this.first = first
    this.second = second
  }

  async run(goesOn: () => boolean): Promise<void> {
    for (let count = 1; goesOn(); count += 1) {
      for (const id of [this.first, this.second]) {
        const { status } = await written(broker, id, count)
        if (status !== 200) throw new Error(`${id} was answered with ${status}`)
      }
      this.acknowledged = count
    }
  }
}

test('a backup under load has what was answered before it, and nothing without what was answered before that', async (t) => {
  const [zeros, ones] = [idsOf('Tank', 0, 4), idsOf('Tank', 1, 4)]
  // Half of them write to partition 0 first, half to partition 1.
  const writers = zeros.map((zero, at) =>
    at % 2 === 0 ? new Writer(zero, ones[at] ?? '') : new Writer(ones[at] ?? '', zero),
  )
  await broker.send('POST', '/v1/subscribeContext', {
    entities: [{ type: 'Counter', isPattern: 'true', id: '.*' }],
    reference: 'http://127.0.0.1:9/nobody',
    notifyConditions: [{ type: 'ONCHANGE' }],
  })
  let goesOn = true
  const running = Promise.all(writers.map((writer) => writer.run(() => goesOn)))
  await until(() => writers.some(({ acknowledged }) => acknowledged >= 3))
  for (let round = 1; round <= rounds; round += 1) {
    const before = writers.map(({ acknowledged }) => acknowledged)
    const backup = join(folder, `backup-${round}`)
    const taken = await rigelProgram(['backup', backup, '--url', broker.url])
    t.match(taken, { code: 0, output: /backup of .*Z, 2 partitions, \d+\.\d [kM]B, in/, errors: '' })
    // What follows is quicker alone.
    if (round === rounds) goesOn = false
    const restored = join(folder, `restored-${round}`)
    t.match(await rigelProgram(['restore', backup, '-dbPath', restored]), { code: 0 })
    t.match(await rigelProgram(['check', '-dbPath', restored]), {
      code: 0,
      output: /sound: 8 entities in 2 partitions.* 1 subscription,/,
    })
    const copy = await RunningBroker.startOn(t, restored)
    for (const [at, { first, second }] of writers.entries()) {
      const [held, after] = [await countOf(copy, first), await countOf(copy, second)]
      t.ok(after >= (before[at] ?? 0), `${second} has ${after}, ${before[at]} was answered before`)
      t.ok(held >= after, `${first} has ${held}, and ${second}, which was written after it, ${after}`)
    }
    await copy.endsInOrder(t)
  }
  await running
  await broker.writes(/backup 1 is complete/)
})

test('a backup is checked as it is, and has no other files than those of its manifest', async (t) => {
  const backup = join(folder, 'backup-1')
  const files = readdirSync(backup, { recursive: true }).sort()
  t.same(files, [
    ...['control', 'control/data.mdb', 'format.json', 'manifest.json'],
    ...['partition-0', 'partition-0/data.mdb', 'partition-1', 'partition-1/data.mdb'],
  ])
  t.match(await rigel('check', backup), { code: 0, output: /sound: 8 entities/ })
  t.same(readdirSync(backup, { recursive: true }).sort(), files)
})

test('a backup is for its owner alone, with all that is in it', async (t) => {
  const backup = join(folder, 'backup-1')
  const files = readdirSync(backup, { recursive: true, withFileTypes: true })
  for (const entry of files.filter((each) => each.isFile())) {
    t.equal(statSync(join(entry.parentPath, entry.name)).mode & 0o777, 0o600, entry.name)
  }
  t.equal(statSync(backup).mode & 0o777, 0o700)
})

test('a file that cannot be read is said, the partitions go on, and the next backup is whole', async (t) => {
  const [file, aside] = [join(folder, 'data/partition-1/data.mdb'), join(folder, 'aside.mdb')]
  renameSync(file, aside)
  t.match(await rigel('backup', join(folder, 'unread'), '--url', broker.url), {
    code: 1,
    errors: /answered 503.*a file of the data folder cannot be read: the log says which and why/,
  })
  for (const id of [...idsOf('Tank', 0, 1), ...idsOf('Tank', 1, 1)]) t.equal((await written(broker, id, 1)).status, 200)
  renameSync(aside, file)
  await broker.writes(/the file of the partition cannot be copied.*partition-1\/data\.mdb/)
  const before = await metricsOf()
  t.match(await rigel('backup', join(folder, 'read'), '--url', broker.url), { code: 0 })
  t.match(await rigel('check', join(folder, 'read')), { code: 0 })
  const after = await metricsOf()
  t.equal(after.get('rigel_backups_total{result="refused"}'), 1)
  t.equal(
    after.get('rigel_backups_total{result="complete"}'),
    (before.get('rigel_backups_total{result="complete"}') ?? 0) + 1,
  )
  t.ok(Math.abs((after.get('rigel_backup_last_success_timestamp_seconds') ?? 0) - Date.now() / 1000) < 600)
  t.ok((after.get('rigel_backup_last_size_bytes') ?? 0) > 2 ** 15)
  t.ok((after.get('rigel_backup_last_duration_seconds') ?? -1) >= 0)
})

/** Values of the metrics of backups, by name and labels. */
async function metricsOf(): Promise<ReadonlyMap<string, number>> {
  const { text } = await broker.send('GET', '/metrics')
  return new Map(
    Array.from(text.matchAll(/^(rigel_backup\S+) (\S+)$/gm), ([, name = '', value]) => [name, Number(value)]),
  )
}

test('what is a mount point, or has no room, is refused before anything is copied', mayMount, async (t) => {
  const disk = smallDisk(t, 1)
  const { path } = disk
  t.match(await rigel('backup', path, '--url', broker.url), {
    code: 1,
    errors: /is a mount point: name a folder in it/,
  })
  disk.leave(2 ** 14)
  t.match(await rigel('backup', join(path, 'monday'), '--url', broker.url), {
    code: 1,
    errors: /the backup needs \d+ MiB on the disk of .*, which has \d MiB free: \d+ MiB are missing/,
  })
  t.same(readdirSync(path), ['ballast'])
})

/** A backup that nobody reads until its rest is asked for, so that it goes on for as long as it is wanted. */
interface Unread {
  readonly end: () => void
  /** Reads what is left of it. */
  readonly rest: () => Promise<'whole' | 'broken off'>
}

function unread(): Promise<Unread> {
  return new Promise((resolve, reject) => {
    const sent = request(`${broker.url}/admin/backup`, (response) => {
      response.pause()
      if (response.statusCode !== 200) reject(new Error(`the backup was answered with ${response.statusCode}`))
      const rest = async (): Promise<'whole' | 'broken off'> => {
        const closed = new Promise((over) => response.on('close', over).on('error', over))
        response.resume()
        await closed
        return response.complete ? 'whole' : 'broken off'
      }
      resolve({ end: () => sent.destroy(), rest })
    })
    sent.on('error', (fault) => reject(fault)).end()
  })
}

test('one backup is taken at a time, and one whose client goes makes room', async (t) => {
  // More than the sockets take, so that the first one has to wait for its client.
  const page = 'x'.repeat(900_000)
  for (let n = 0; n < 24; n += 1) {
    const attributes = [{ name: 'page', type: 'Text', value: page }]
    t.equal((await broker.update('APPEND', { id: `Page${n}`, type: 'Page', attributes })).status, 200)
  }
  const first = await unread()
  const { status, text } = await broker.send('GET', '/admin/backup')
  t.same(
    { status, text },
    {
      status: 503,
      text: '{"error":"ServiceUnavailable","description":"another backup is under way: try again when it is over"}',
    },
  )
  const target = join(folder, 'refused')
  t.match(await rigel('backup', target, '--url', broker.url), {
    code: 1,
    errors: /no backup was made: .* answered 503/,
  })
  t.notOk(existsSync(target))
  const before = broker.output.length
  first.end()
  // Or since nothing was taken of it, on a machine that stood still until then.
  await until(() =>
    /backup \d+ was given up: (its client has gone|nothing was taken)/.test(broker.output.slice(before)),
  )
  t.match(await rigel('backup', join(folder, 'again'), '--url', broker.url), { code: 0 })
})

test('a backup during which a partition is replaced breaks off, and the next one is whole', async (t) => {
  const before = broker.output.length
  const during = await unread()
  const killer = await ThreadKiller.connect(broker.output)
  await killer.kill('partition', 'throws')
  killer.close()
  await until(() => /runs again in a new thread/.test(broker.output.slice(before)))
  t.equal(await during.rest(), 'broken off')
  const isOfNoUse = /backup \d+ (is of no use: a partition was replaced meanwhile|was given up: nothing was taken)/
  await until(() => isOfNoUse.test(broker.output.slice(before)))
  t.match(await rigel('backup', join(folder, 'after it'), '--url', broker.url), { code: 0 })
})

test('a backup of which nothing is taken is given up', { skip: !isLong && 'RIGEL_FAULTS is not set' }, async (t) => {
  const stalled = await unread()
  await until(() => /was given up: nothing was taken of it for 15 s/.test(broker.output))
  t.match(await rigel('backup', join(folder, 'after'), '--url', broker.url), { code: 0 })
  stalled.end()
})

test('the archive is one for tar, and its length is known before', async (t) => {
  const response = await fetch(`${broker.url}/admin/backup`)
  t.match(response.headers.get('content-disposition') ?? '', /^attachment; filename="rigel-backup-.*\.tar"$/)
  const bytes = Buffer.from(await response.arrayBuffer())
  t.equal(bytes.length, Number(response.headers.get('content-length')))
  const names = [...Array(bytes.length / 512).keys()]
    .map((at) => bytes.subarray(at * 512, at * 512 + 512))
    .filter((block) => block.toString('latin1', 257, 262) === 'ustar')
    .map((block) => block.toString('latin1', 0, block.indexOf(0)))
  t.same(names, ['format.json', 'partition-0/data.mdb', 'partition-1/data.mdb', 'control/data.mdb', 'manifest.json'])
})

test('what stands where a backup is to go is refused and stays', async (t) => {
  const full = join(folder, 'full')
  mkdirSync(full)
  writeFileSync(join(full, 'letters.txt'), 'mine')
  t.match(await rigel('backup', full, '--url', broker.url), { code: 1, errors: /full is not empty/ })
  t.same(readdirSync(full), ['letters.txt'])
  t.match(await rigel('backup', join(folder, 'x'), '--url', 'http://127.0.0.1:9'), {
    code: 1,
    errors: /cannot be reached/,
  })
  t.match(await rigel('backup', join(folder, 'x'), '--tokn', 'x'), { code: 2, errors: /did you mean '--token'/ })
  t.match(await rigel('backup'), { code: 2, errors: /needs a folder/ })
  t.match(await rigelProgram(['help', 'backup']), { code: 0, output: /Usage: rigel backup DIR/ })
})

test('a backup that is killed leaves no folder of its name, and the next one is whole', async (t) => {
  const backup = join(folder, 'killed')
  const killed = begun(['backup', backup, '--url', broker.url])
  const ended = once(killed, 'exit')
  await until(() => existsSync(`${backup}.draft`) || killed.exitCode !== null)
  killed.kill('SIGKILL')
  await ended
  if (existsSync(backup)) {
    t.match(await rigel('check', backup), { code: 0 }, 'it was faster')
    rmSync(backup, { recursive: true })
  }
  // The broker may not have noticed yet.
  await until(async () => (await rigel('backup', backup, '--url', broker.url)).code === 0, 'there is a backup')
  t.notOk(existsSync(`${backup}.draft`))
})

test('a damaged backup is refused before anything changes', async (t) => {
  const damages: readonly (readonly [string, (backup: string) => void, RegExp])[] = [
    ['no manifest', (backup) => rmSync(join(backup, 'manifest.json')), /has no manifest.json/],
    ['a manifest of nothing', (backup) => writeFileSync(join(backup, 'manifest.json'), '{}'), /is no manifest/],
    ['a manifest that is cut', (backup) => truncateSync(join(backup, 'manifest.json'), 40), /manifest.json is no JSON/],
    [
      'a folder for a manifest',
      (backup) => {
        rmSync(join(backup, 'manifest.json'))
        mkdirSync(join(backup, 'manifest.json'))
      },
      /manifest\.json cannot be read: it is a folder \(EISDIR\): take another backup/,
    ],
    ['a file less', (backup) => rmSync(join(backup, 'partition-1/data.mdb')), /data.mdb is missing/],
    ['a shorter file', (backup) => truncateSync(join(backup, 'control/data.mdb'), 4096), /has 4096 bytes instead of/],
    [
      'a byte',
      (backup) => overwritten(join(backup, 'partition-0/data.mdb'), 9000, Buffer.from('?')),
      /its checksum is another one/,
    ],
    ['a format to come', (backup) => ofFormat(backup, 99), /has format 99, this program reads format 6/],
  ]
  for (const [what, damage, refusal] of damages) {
    const backup = join(folder, `with ${what}`)
    cpSync(join(folder, 'backup-1'), backup, { recursive: true })
    damage(backup)
    const data = join(folder, `of ${what}`)
    t.match(await rigel('restore', backup, '-dbPath', data), { code: 1, errors: refusal }, what)
    t.same(existsSync(data) ? readdirSync(data) : [], [], what)
    if (what === 'a byte') t.match(await rigel('check', backup), { code: 1, output: refusal }, what)
  }
})

function ofFormat(backup: string, format: number): void {
  const file = join(backup, 'manifest.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), format }))
}

test('an archive that is not whole, or holds something else, makes no backup', async (t) => {
  const whole = Buffer.from(await (await fetch(`${broker.url}/admin/backup`)).arrayBuffer())
  let sent: Buffer = whole
  const server = createServer((_, response) => response.end(sent)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('there is no address')
  const url = `http://127.0.0.1:${address.port}`
  const changed = Buffer.from(whole)
  changed[9000] = (changed[9000] ?? 0) ^ 1
  const renamed = Buffer.from(whole)
  renamed.write('../../etc', 0, 'latin1')
  for (const [bytes, refusal] of [
    [whole.subarray(0, whole.length / 2), /ended too early/],
    [Buffer.from('no archive at all'), /ended too early/],
    [changed, /checksum is another one|is no backup/],
    [renamed, /is no backup/],
    [Buffer.alloc(1024), /no manifest.json/],
    [file('partition-0/data.mdb', { linkpath: '/etc/passwd', type: 'SymbolicLink' }), /is no backup/],
    [file('x'.repeat(90), { type: 'ExtendedHeader', size: 1024 }), /is no backup/],
    [file('/etc/cron.d/rigel'), /is no backup of Rigel: it holds/],
    [file('partition-0/../../data.mdb'), /is no backup of Rigel: it holds/],
    [Buffer.concat([file('format.json'), file('format.json')]), /holds format.json twice/],
    [file('manifest.json', { size: 2 ** 40 }), /its manifest.json has 1099511627776 bytes/],
    [file('control/data.mdb', { size: 2 ** 40 }), /ended too early/],
    [Buffer.concat([file('partition-7/data.mdb'), whole]), /partition-7.* came, and manifest.json does not name it/],
  ] as const) {
    sent = bytes
    t.match(await rigel('backup', join(folder, 'wrong'), '--url', url), { code: 1, errors: refusal })
    t.same(
      readdirSync(folder).filter((name) => name.startsWith('wrong')),
      [],
    )
  }
})

test('a backup that is interrupted says so and leaves no draft', async (t) => {
  let sent = 0
  const stalling = createServer((_, response) => {
    response.writeHead(200, { 'Content-Length': '1000000' })
    response.write(file('partition-0/data.mdb', { size: 900_000 }))
    response.write(Buffer.alloc(100_000), () => {
      sent += 1
    })
  })
  await once(stalling.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    stalling.closeAllConnections()
    stalling.close()
  })
  const address = stalling.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const backup = join(folder, `interrupted ${signal}`)
    const before = sent
    const command = begun(['backup', backup, '--url', url])
    let errors = ''
    command.stderr?.on('data', (piece: Buffer) => {
      errors += piece
    })
    const drafted = join(`${backup}.draft`, 'partition-0/data.mdb')
    await until(() => sent > before && existsSync(drafted) && statSync(drafted).size > 0)
    command.kill(signal)
    await once(command, 'close')
    t.same([command.exitCode, errors], [1, `no backup was made: it was interrupted (${signal})\n`])
    t.same(
      readdirSync(folder).filter((name) => name.startsWith('interrupted')),
      [],
    )
  }
})

/** The head of a file in an archive. */
function file(path: string, change: Partial<HeaderData> = {}): Buffer {
  const block = Buffer.alloc(512)
  const head = new Header({ path, size: 0, type: 'File', mode: 0o600, mtime: new Date(0), ...change })
  head.encode(block)
  return block
}

test('a broker whose certificate nobody vouches for is trusted by --ca, and by nothing else', async (t) => {
  const whole = Buffer.from(await (await fetch(`${broker.url}/admin/backup`)).arrayBuffer())
  const server = createHttpsServer({ key: itsKey, cert: unknownCertificate }, (_, response) => response.end(whole))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  const ca = join(folder, 'ca.pem')
  writeFileSync(ca, unknownCertificate)
  const backup = join(folder, 'by https')
  t.match(await rigel('backup', backup, '--url', url), { code: 1, errors: /--ca FILE names the certificate to trust/ })
  t.match(await rigel('backup', backup, '--url', url, '--ca', join(folder, 'none')), {
    code: 1,
    errors: /--ca: .*none cannot be read: there is no such file/,
  })
  t.match(await rigel('backup', backup, '--url', url, '--ca', ca), { code: 0, output: /backup of/ })
})

test('a stopped broker is backed up from its folder, with what only its log has', async (t) => {
  const data = join(folder, 'data')
  t.match(await rigel('backup', join(folder, 'y'), '-dbPath', data), { code: 1, errors: /in use by another broker/ })
  t.equal((await written(broker, 'Last', 7)).status, 200)
  await broker.end('SIGKILL')
  t.match(await rigel('check', '-dbPath', data), { code: 0 })
  t.match(await rigel('backup', join(folder, 'y'), '-dbPath', data), { code: 0 })
  t.match(await rigel('restore', join(folder, 'y'), '-dbPath', data), { code: 1, errors: /holds data: --force/ })
  t.match(await rigel('restore', join(folder, 'y'), '-dbPath', join(folder, 'z')), { code: 0 })
  const copy = await RunningBroker.startOn(t, join(folder, 'z'))
  t.equal(await countOf(copy, 'Last'), 7)
})
