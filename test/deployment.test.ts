import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))
const unit = readFileSync(join(root, 'deploy', 'rigel.service'), 'utf8')
const skip = spawnSync('systemd-analyze', ['--version']).status === 0 ? false : 'there is no systemd-analyze'

test('whoever ends the broker gives it the time of an orderly end', async (t) => {
  const [, timeout] = /RIGEL_SHUTDOWN_TIMEOUT=(\d+)/.exec(unit) ?? []
  const [, stop] = /^TimeoutStopSec=(\d+)s$/m.exec(unit) ?? []
  t.ok(Number(stop) > Number(timeout) + 1)
  t.match(unit, /^KillSignal=SIGTERM$/m)
})

test('the unit is one that systemd takes, and well protected', { skip }, async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'rigel.service')
  // The program need not be installed where this runs.
  writeFileSync(file, unit.replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath}`))
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
  const complaints = verified.stderr.split('\n').filter((line) => line.includes(file))
  t.same([verified.status, complaints], [0, []])
  const scored = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', file], {
    encoding: 'utf8',
  })
  t.equal(scored.status, 0, scored.stdout.trim().split('\n').at(-1) ?? '')
})
