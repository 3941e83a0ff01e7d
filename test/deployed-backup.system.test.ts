import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { freePort } from '../bench/free-port.js'
import { brokerProgram } from './program.js'
import { RunningBroker } from './running.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const unit = readFileSync(join(root, 'deploy', 'rigel-backup.service'), 'utf8')

test('the unit of backups takes one of the broker of this machine, and then removes those that are too old', async (t) => {
  const folder = t.testdir()
  const backups = join(folder, 'backups')
  const day_s = 24 * 60 * 60
  const now_s = Date.now() / 1000
  for (const [name, age_d] of [
    ['2026-01-01', 20],
    ['2026-01-02', 2],
    ['kept', 20],
  ] as const) {
    mkdirSync(join(backups, name), { recursive: true })
    utimesSync(join(backups, name), now_s - age_d * day_s, now_s - age_d * day_s)
  }
  const adminPort = await freePort()
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), ['-adminPort', String(adminPort)])
  // What both units read from the same file.
  const settings = { ORION_PORT: String(broker.port), RIGEL_ADMIN_PORT: String(adminPort) }
  const words = join(folder, 'rigel')
  writeFileSync(words, `#!/bin/sh\nexec '${process.execPath}' '${brokerProgram}' "$@"\n`)
  chmodSync(words, 0o755)
  const run = (setting: string) =>
    spawnSync('sh', ['-c', commandOf(setting).replaceAll('/var/backups/rigel', backups)], {
      encoding: 'utf8',
      env: { ...process.env, ...settings, PATH: `${folder}:${process.env['PATH']}` },
    })

  const taken = run('ExecStart')
  t.equal(taken.status, 0, taken.stderr)
  const [made = '', ...others] = readdirSync(backups).filter((name) => !/^(2026-01|kept)/.test(name))
  t.match(made, /^20\d\d-\d\d-\d\d$/)
  t.same(others, [])
  const checked = spawnSync(process.execPath, [brokerProgram, 'check', join(backups, made)], { encoding: 'utf8' })
  t.equal(checked.status, 0, checked.stdout)

  const removed = run('ExecStartPost')
  t.equal(removed.status, 0, removed.stderr)
  t.same(readdirSync(backups).toSorted(), ['2026-01-02', made, 'kept'])
})

test('the unit of backups reads the settings of the broker', async (t) => {
  const ofBroker = /^EnvironmentFile=.*$/m.exec(readFileSync(join(root, 'deploy', 'rigel.service'), 'utf8'))?.[0]
  t.ok(ofBroker !== undefined && unit.split('\n').includes(ofBroker))
})

/** A command line of the unit, as systemd hands it over. */
function commandOf(setting: string): string {
  const [, line = ''] = new RegExp(`^${setting}=(.*)$`, 'm').exec(unit) ?? []
  return line.replaceAll('$$', '$').replaceAll('%%', '%')
}
