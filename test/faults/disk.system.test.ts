import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { underLoad } from './run.js'

function mounted(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256m', 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false // Only the system's administrator may mount.
  }
}

test('a disk that is full refuses updates and takes them again when there is room: no promise is broken', async (t) => {
  t.setTimeout(300_000)
  const folder = mkdtempSync(join(tmpdir(), 'rigel-disk-'))
  if (!mounted(folder)) {
    t.comment('skipped: a small disk cannot be mounted here')
    return
  }
  // Torn down in the opposite order: the broker ends before its disk goes.
  t.teardown(() => {
    execFileSync('umount', ['-l', folder])
    rmdirSync(folder)
  })
  const flags = ['-partitions', '2', '-httpThreads', '2', '-notifRetryMin', '50', '-notifRetryMax', '200']
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), flags)
  const filler = join(folder, 'filler')
  await underLoad(t, broker, async ({ history }) => {
    await delay(300)
    fill(filler)
    await broker.writes(/storage full/)
    await until(() => history.count('refused') > 0, 'updates are refused')
    rmSync(filler)
    await delay(1500)
  })
  const later = { id: 'Later', attributes: [{ name: 'a', value: '1' }] }
  await until(async () => (await broker.update('APPEND', later)).status === 200, 'there is room again')
  await broker.endsInOrder(t)
})

/** Takes all the room that is left. */
function fill(file: string): void {
  for (let size = 64 * 2 ** 10, piece = Buffer.alloc(size); size >= 4096; size /= 2) {
    piece = piece.subarray(0, size)
    try {
      for (;;) writeFileSync(file, piece, { flag: 'a' })
    } catch {
      // No room for a piece of this size.
    }
  }
}
