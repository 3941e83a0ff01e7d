import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { readCheckpoint } from '../src/storage/environment/checkpoint.js'
import { DiskLogFolder } from '../src/storage/wal/log-folder.js'
import { type LogPosition, LogScan, parsePosition } from '../src/storage/wal/log-scan.js'
import { nameOf } from '../src/storage/wal/segments.js'
import { overwritten } from './lmdb/given-folder.js'
import { rigel } from './offline/given-command.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

/** Now and then lmdb aborts a process that ends while one of its threads does; the line that says why is there before that. */
const ended = /ended with (?:3|SIGABRT)/

/** What a killed broker has left in the log of its only partition. */
interface Left {
  readonly broker: RunningBroker
  /** The positions behind the records that are not in the checkpoint, in order. */
  readonly behind: readonly LogPosition[]
  /** The file that the last of them stands in. */
  readonly file: string
}

/** A broker that was killed after ten updates of one entity, several of which no checkpoint has. */
async function killed(t: Test): Promise<Left> {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-logLevel', 'INFO'])
  const partition = join(broker.folder, 'partition-0')
  return until(async () => {
    for (let n = 1; n <= 10; n += 1) t.equal((await broker.update('APPEND', tank(n))).status, 200)
    await broker.end('SIGKILL')
    const checkpoint = readCheckpoint(partition)
    const from = checkpoint.ok && checkpoint.value ? parsePosition(checkpoint.value.note) : undefined
    if (from === undefined) throw new Error('there is no checkpoint')
    const scan = new LogScan(new DiskLogFolder(join(partition, 'log')))
    const behind = Array.from(scan.records(from), ({ after }) => after)
    const [last] = behind.slice(-1)
    if (last && behind.length >= 3) return { broker, behind, file: join(partition, 'log', nameOf(last.segment)) }
    await broker.run()
    return undefined
  }, 'several updates are in no checkpoint')
}

function tank(n: number): unknown {
  return { id: 'Tank1', type: 'Tank', attributes: [{ name: 'level', type: 'number', value: String(n) }] }
}

async function level(broker: RunningBroker): Promise<unknown> {
  return (await broker.send('GET', '/v1/contextEntities/Tank1/attributes/level')).text.match(/"value":"(\d+)"/)?.[1]
}

test('what was being appended when the power was cut is cut off the log, and a line says how much', async (t) => {
  const { broker, behind, file } = await killed(t)
  const end = behind.at(-1)?.offset ?? 0
  overwritten(file, end, readFileSync(file).subarray(end - 64, end - 40))
  await broker.run()
  await broker.writes(/"lvl":"WARN".*bytes at the end of .*partition-0\/log were cut/)
  await broker.writes(/"lvl":"INFO".*partition-0: \d+ records of the log were applied/)
  t.equal(await level(broker), '10')
  t.equal((await broker.update('UPDATE', tank(11))).status, 200)
  t.equal(await broker.end('SIGKILL'), 'SIGKILL')
  await broker.run()
  t.equal(await level(broker), '11')
})

test('a log of noise refuses the start and is a finding, and a cut that a start would make is noted', async (t) => {
  const { broker, behind, file } = await killed(t)
  const whole = readFileSync(file)
  writeFileSync(file, Buffer.alloc(whole.length, 'noise'))
  await t.rejects(broker.run(), { message: ended })
  const damage =
    /partition-0\/log\/\d+\.log is damaged at byte \d+ \(record \d+ before it, which the checkpoint names, is damaged\)/
  t.match(broker.output, damage)
  t.match(await rigel('check', '-dbPath', broker.folder), { code: 1, output: damage })
  writeFileSync(file, whole)
  overwritten(file, (behind.at(-1)?.offset ?? 0) - 16, Buffer.alloc(4, 'noise'))
  const cut =
    /partition-0\/log: \d+ bytes at its end are cut off when it is opened: a record whose writing was interrupted; it may have been ack/
  t.match(await rigel('check', '-dbPath', broker.folder), { code: 0, output: cut })
  await broker.run()
  t.equal(await level(broker), '9')
})

test('a record that was on disk and is damaged refuses the start with file, offset and way out', async (t) => {
  const { broker, behind, file } = await killed(t)
  const [before, damaged] = behind.slice(-3)
  if (!before || !damaged) throw new Error('there are not enough records')
  const middle = Math.floor((before.offset + damaged.offset) / 2)
  const whole = readFileSync(file)
  overwritten(file, middle, Buffer.of((whole[middle] ?? 0) ^ 1))
  await t.rejects(broker.run(), { message: ended })
  const named = `${file} is damaged at byte ${before.offset} (record ${damaged.sequence} is damaged, and later ones are sound)`
  t.ok(broker.output.includes(`${named}: restore the data folder from a backup`))
  writeFileSync(file, whole)
  await broker.run()
  t.equal(await level(broker), '10', 'what was put back is what was there')
})

test('a log without its checkpoint, and a checkpoint without its log, refuse the start', async (t) => {
  const { broker, file } = await killed(t)
  const partition = join(broker.folder, 'partition-0')
  const whole = readFileSync(file)
  rmSync(file)
  await t.rejects(broker.run(), { message: ended })
  t.match(broker.output, `${file} is damaged at byte`)
  t.match(broker.output, 'it is missing')
  writeFileSync(file, whole)
  rmSync(join(partition, 'checkpoint'))
  await t.rejects(broker.run(), { message: ended })
  t.match(
    broker.output,
    'holds records, but the checkpoint beside it is missing: restore the data folder from a backup',
  )
})

test('the metrics show what the log takes, and the checkpoints', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1'])
  for (let n = 1; n <= 3; n += 1) t.equal((await broker.update('APPEND', tank(n))).status, 200)
  const shown = async (name: string) => {
    const { text } = await broker.send('GET', '/metrics')
    return Number(new RegExp(`^${name}{partition="0"} (\\S+)$`, 'm').exec(text)?.[1])
  }
  t.equal(await shown('rigel_log_append_duration_seconds_count'), 3)
  t.ok((await shown('rigel_log_appended_bytes_total')) > 100)
  await until(async () => (await shown('rigel_checkpoint_duration_seconds_count')) >= 1)
  t.ok((await shown('rigel_checkpoint_duration_seconds_sum')) > 0)
})
