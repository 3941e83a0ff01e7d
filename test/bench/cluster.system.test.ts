import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { t as root, test } from 'tap'
import { ProcessorShares } from '../../bench/cluster/processor-share.js'
import { member } from '../../bench/ngsi.js'
import { noEtcd } from '../cluster/etcd-members.js'
import { columns, isMeasured, linesFrom, linesOf, own, run } from './programs.js'

/** The pauses of several nodes take minutes, most of which is waiting. */
const isLong = process.env['RIGEL_BENCH'] === 'long'

const skip = noEtcd || own.skip

// Members, nodes and partitions are waited for most of the time.
root.jobs = 2

/** Each partition has a thread on each node: with twelve of them, most of the time would be that of their starts. */
const few = ['--partitions', '2']

test('cluster measures updates and reads of a node with what each part takes for them', {
  skip,
  buffered: true,
}, async (t) => {
  const small = ['--nodes', '1', '--no-share', '--connections', '4', ...few]
  const lines = await linesFrom(t, 'cluster', ...small)
  t.same(columns(lines, 'case', 'nodes', 'share', 'connections'), [
    ['idle', 1, 'none', undefined],
    ['updates', 1, 'none', 4],
    ['confirmed reads', 1, 'none', 4],
    ['local reads', 1, 'none', 4],
  ])
  const [, updates] = lines
  // Processor time is counted in hundredths of a second, which so few updates need not take.
  t.type(member(updates, 'brokers_us'), 'number')
  for (const figure of ['load_us', 'records', 'logged_bytes', 'etcd_received_bytes', 'etcd_fsyncs']) {
    t.ok(Number(member(updates, figure)) > 0, figure)
  }
  t.ok(Number(member(updates, 'records')) <= 1.5, 'an update has a record of its own or shares one')
})

test('cluster-join says how soon a new node serves what another one has', { skip, buffered: true }, async (t) => {
  const [line] = await linesFrom(t, 'cluster-join', '--entities', '100', ...few)
  t.match(line, { bench: 'cluster-join', entities: 100 })
  for (const figure of ['serves_median_s', 'owns_median_s', 'processor_median_s', 'resident_MiB', 'folder_MiB']) {
    t.ok(Number(member(line, figure)) > 0, figure)
  }
})

test('three nodes share updates, and pause when one of them is killed', { skip: skip || !isLong }, async (t) => {
  t.setTimeout(600_000)
  const short = ['--rounds', '1', '--duration', '1', '--connections', '1,4', '--devices', '100', '--no-share']
  const ended = await run('run', 'cluster', 'cluster-pauses', '--nodes', '1,3', ...short)
  t.equal(ended.code, 0, ended.errors)
  for (const line of linesOf(ended, 'cluster')) if (member(line, 'case') !== 'idle') isMeasured(t, line)
  t.equal(linesOf(ended, 'cluster-pauses').length, 3)
  for (const line of linesOf(ended, 'cluster-pauses')) t.ok(Number(member(line, 'updates_median_s')) > 0)
})

test('benchmarks of clusters refuse with a text where there is no etcd', { skip: own.skip }, async (t) => {
  const folder = t.testdir()
  const programs = join(folder, 'bin')
  mkdirSync(programs)
  symlinkSync(process.execPath, join(programs, 'node'))
  const script = fileURLToPath(new URL('../../bench/run.js', import.meta.url))
  for (const bench of ['cluster', 'cluster-pauses', 'cluster-join']) {
    const environment = { ...process.env, PATH: programs }
    const refusal = spawnSync(process.execPath, [script, bench], { env: environment, encoding: 'utf8' })
    t.equal(refusal.status, 2)
    t.match(refusal.stderr, new RegExp(`^${bench}: etcd and etcdctl are to be on the path`, 'm'))
  }
})

test('a share that no group can hold is refused', (t) => {
  t.match(ProcessorShares.of(0.01), { ok: false, error: /least share/ })
  t.end()
})
