import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { parse } from 'yaml'

const root = fileURLToPath(new URL('../..', import.meta.url))
const unit = readFileSync(join(root, 'deploy', 'rigel.service'), 'utf8')
const skip = spawnSync('systemd-analyze', ['--version']).status === 0 ? false : 'there is no systemd-analyze'

interface Service {
  readonly image: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly restart?: string
  readonly stop_grace_period?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes: readonly string[]
  readonly deploy: { readonly resources: { readonly limits: Readonly<Record<string, unknown>> } }
}

interface Composition {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
}

function composed(file: string): Composition {
  return parse(readFileSync(join(root, file), 'utf8'), { merge: true }) as Composition
}

const compose = composed('compose.yaml')
const cluster = composed('compose.cluster.yaml')

/** Every service is read-only, without rights, limited, and its files are there. */
function checkServices(t: Test, { services, volumes }: Composition): void {
  for (const [name, service] of Object.entries(services)) {
    t.match(
      service,
      { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'], restart: 'unless-stopped' },
      name,
    )
    t.same(Object.keys(service.deploy.resources.limits).toSorted(), ['cpus', 'memory', 'pids'])
    if (service.image !== 'rigel')
      t.match(service.image, /:v?\d+\.\d+\.\d+$/, 'another version would be another program')
    for (const volume of service.volumes) {
      const [from = ''] = volume.split(':')
      t.ok(from.startsWith('./') ? existsSync(join(root, from)) && volume.endsWith(':ro') : from in volumes, volume)
    }
  }
}

test('every service of compose.yaml is protected and limited', async (t) => {
  t.same(Object.keys(compose.services), ['rigel', 'prometheus', 'grafana'])
  checkServices(t, compose)
})

test('so is every service of compose.cluster.yaml, whose nodes have names of their own', async (t) => {
  const three = (name: string): readonly string[] => [0, 1, 2].map((number) => `${name}-${number}`)
  t.same(Object.keys(cluster.services), [...three('etcd'), ...three('broker'), 'proxy'])
  checkServices(t, cluster)
  for (const name of three('broker')) {
    const { environment = {}, stop_grace_period = '' } = cluster.services[name] ?? {}
    t.match(environment, { RIGEL_NODE_NAME: name, RIGEL_CLUSTER_ADVERTISE: name })
    t.ok(Number.parseInt(stop_grace_period, 10) > Number(environment['RIGEL_SHUTDOWN_TIMEOUT']))
    t.match(readFileSync(join(root, 'deploy', 'cluster', 'Caddyfile'), 'utf8'), `${name}:1026`)
  }
})

test('whoever ends the broker gives it the time of an orderly end', async (t) => {
  const { stop_grace_period, environment } = compose.services['rigel'] ?? {}
  t.ok(Number.parseInt(stop_grace_period ?? '', 10) > Number(environment?.['RIGEL_SHUTDOWN_TIMEOUT']))
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
