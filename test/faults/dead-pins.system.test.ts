import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { until } from '../until.js'
import { isLong } from './run.js'
import { deathsMost, WatchedPartitions } from './watched-partitions.js'

test('what the thread of a partition had pinned when it died is let go of', async (t) => {
  t.setTimeout(300_000)
  const watched = await WatchedPartitions.start(t, 1)
  for (let kills = 0; kills < deathsMost; kills += 1) {
    const before = watched.updates
    await until(() => watched.updates >= before + 100)
    await watched.kill()
  }
  await watched.end()
})

/** Every how often a thread is killed, and how long, behind a warm-up after which the files have the size that the load needs. */
const kill_ms = 5000
const warm_ms = 60_000
const warmUpdates = 20_000
const long_ms = 120_000

/** How much larger a file may be at the end than after the warm-up: a pin that is kept for a minute makes it 15 times as large. */
const growthMost = 1.5

/** Rows of threads that died would fill the table of readers, and no thread could read any more. */
const rowsMore = 8

test('the threads of partitions die for minutes, and neither files nor tables of readers grow', {
  skip: isLong ? false : 'only with RIGEL_FAULTS=long',
}, async (t) => {
  t.setTimeout(600_000)
  const watched = await WatchedPartitions.start(t, 3)
  const began_ms = performance.now()
  const passed_ms = (): number => performance.now() - began_ms
  const killUntil = async (isOver: () => boolean): Promise<void> => {
    for (let next_ms = passed_ms(); !isOver(); next_ms += kill_ms) {
      await delay(Math.max(0, next_ms - passed_ms()))
      await watched.kill()
    }
  }
  await killUntil(() => passed_ms() > warm_ms && watched.updates > warmUpdates)
  const warmed_ms = passed_ms()
  const warm = watched.partitions.map((partition) => ({ bytes: partition.bytes, rows: partition.rows }))
  await killUntil(() => passed_ms() > warmed_ms + long_ms)
  const ended = watched.partitions.map((partition) => ({ bytes: partition.bytes, rows: partition.rows }))
  t.comment(
    `${watched.kills} kills and ${watched.updates} updates in ${Math.round(passed_ms() / 1000)} s; ` +
      `after the warm-up ${JSON.stringify(warm)}, at the end ${JSON.stringify(ended)}`,
  )
  for (const [at, { bytes, rows }] of ended.entries()) {
    t.ok(bytes < (warm[at]?.bytes ?? 0) * growthMost, `the file of partition ${at} does not grow`)
    t.ok(rows <= (warm[at]?.rows ?? 0) + rowsMore, `the table of readers of partition ${at} does not grow`)
  }
  await watched.end()
})
