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
  t.setTimeout(120_000)
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
  const flags = ['-partitions', '2', '-httpThreads', '2', '-notifRetryMin', '50', '-notifRetention', '31536000']
  const broker = await RunningBroker.start(t, flags, { environment })
  const today = async (): Promise<number> => {
    const { headers } = await broker.send('GET', '/version')
    return Date.parse(headers.get('date') ?? '')
  }
  const began = await today()
  const { history } = await underLoad(t, broker, async () => {
    // Not as far as subscriptions are in force and notifications are kept.
    for (const by of ['+100d', '-100d', '+1h', '-1h']) {
      jump(by)
      await delay(1500)
      if (by === '-100d') t.ok((await today()) < began, 'the clock of the broker did jump')
    }
  })
  t.equal(history.count('refused'), 0)
  t.equal(history.count('unknown'), 0)
  t.equal(await broker.end('SIGTERM'), 0)
})
