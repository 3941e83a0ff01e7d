import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { underLoad } from './run.js'

/** The library that shifts the clock of a process by what stands in a file; `apt-get install libfaketime` brings it. */
const library = ['/usr/lib', '/usr/lib64', '/usr/local/lib']
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => [folder, ...readdirSync(folder).map((name) => join(folder, name))])
  .map((folder) => join(folder, 'faketime', 'libfaketimeMT.so.1'))
  .find((file) => existsSync(file))

const skip = library === undefined && 'libfaketime is not installed'

test('a wall clock that jumps forth and back breaks no promise', { skip }, async (t) => {
  t.setTimeout(300_000)
  const offset = join(t.testdir(), 'offset')
  const jump = (by: string): void => writeFileSync(offset, by)
  jump('+0')
  const environment = {
    LD_PRELOAD: library ?? '',
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_CACHE_DURATION: '1',
    // Only the wall clock jumps: the system keeps the other one steady.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  const flags = ['-partitions', '2', '-httpThreads', '2', '-notifRetryMin', '50']
  const broker = await RunningBroker.start(t, flags, { environment })
  const { history } = await underLoad(t, broker, async () => {
    // Not as far as subscriptions are in force, but much further than notifications are kept.
    for (const hours of [2400, -2400, 1, -1]) {
      jump(`${hours < 0 ? '' : '+'}${hours}h`)
      t.ok(await hasJumped(broker, hours), `the clock of the broker has jumped by ${hours} hours`)
      await delay(500)
    }
  })
  t.equal(history.count('refused'), 0)
  t.equal(history.count('unknown'), 0)
  t.equal(await broker.end('SIGTERM'), 0)
})

/** Waits until the broker dates its answers so many hours from now. */
async function hasJumped(broker: RunningBroker, hours: number): Promise<boolean> {
  for (let look = 0; look < 1200; look += 1) {
    const { headers } = await broker.send('GET', '/version')
    const off_hours = (Date.parse(headers.get('date') ?? '') - Date.now()) / 3_600_000
    if (Math.abs(off_hours - hours) < 0.1) return true
    await delay(50)
  }
  return false
}
