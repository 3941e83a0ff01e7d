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
  readonly ports?: readonly string[]
  readonly secrets?: readonly string[]
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address?: string } | null>>
  readonly volumes: readonly string[]
  readonly deploy: { readonly resources: { readonly limits: Readonly<Record<string, unknown>> } }
}

interface Composition {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly networks?: Readonly<Record<string, { readonly internal?: boolean } | null>>
  readonly secrets?: Readonly<Record<string, { readonly file: string }>>
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
    t.match(environment, { RIGEL_NODE_NAME: name })
    t.ok(Number.parseInt(stop_grace_period, 10) > Number(environment['RIGEL_SHUTDOWN_TIMEOUT']))
    t.match(readFileSync(join(root, 'deploy', 'cluster', 'Caddyfile'), 'utf8'), `${name}:1026`)
  }
})

/** The networks of a service, by name; nothing where it has no others than that of all. */
function networksOf({ networks }: Service): readonly string[] | undefined {
  return networks === undefined || Array.isArray(networks) ? networks : Object.keys(networks)
}

test('etcd and the links of nodes are on a network that clients do not share, and etcd asks for certificates', async (t) => {
  t.match(cluster.networks, { inside: { internal: true } })
  t.notOk(cluster.networks?.['clients']?.internal, 'receivers are reached')
  for (const [name, service] of Object.entries(cluster.services)) {
    const { environment = {}, secrets = [] } = service
    for (const secret of secrets) t.ok(cluster.secrets?.[secret], `${name} has ${secret}`)
    const files = Object.values(environment).filter((value) => value?.startsWith('/run/secrets/'))
    for (const file of files) t.ok(secrets.includes(file.slice('/run/secrets/'.length)), `${name} reads ${file}`)
    if (name === 'proxy') t.same(networksOf(service), ['clients'])
    else t.equal(service.ports, undefined, `${name} publishes nothing`)
    if (name.startsWith('etcd')) {
      t.same(networksOf(service), ['inside'], name)
      const requiresCertificates = ['ETCD_CLIENT_CERT_AUTH', 'ETCD_PEER_CLIENT_CERT_AUTH'].every(
        (flag) => environment[flag] === 'true',
      )
      t.ok(requiresCertificates, `${name} asks for certificates`)
      const urls = Object.entries(environment).filter(([variable]) => /_URLS$|_CLUSTER$/.test(variable))
      t.equal(urls.length, 5)
      for (const [variable, value] of urls) t.notMatch(value, /http:/, variable)
    }
    if (name.startsWith('broker')) {
      t.same(networksOf(service), ['clients', 'inside'], name)
      const inside = Array.isArray(service.networks) ? undefined : Object.entries(service.networks ?? {})[1]?.[1]
      const { RIGEL_CLUSTER_IP: listens, RIGEL_CLUSTER_ADVERTISE: reached, RIGEL_CLUSTER_URL: urls } = environment
      t.same([listens, reached], [inside?.ipv4_address, inside?.ipv4_address], 'it listens to nodes inside only')
      t.notMatch(urls, /http:/)
      t.ok(environment['RIGEL_ETCD_CERT'] && environment['RIGEL_ETCD_KEY'] && environment['RIGEL_ETCD_CA'])
    }
  }
})

test('image and compose.yaml say that, unlike the image of Orion, they start without -multiservice', async (t) => {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')
  t.notMatch(/^ENTRYPOINT .*$/m.exec(dockerfile)?.[0], /multiservice/)
  t.match(dockerfile, /^# .*Orion's image starts with -multiservice/m)
  t.strictSame(
    Object.keys(compose.services['rigel'] ?? {}).filter((key) => key === 'command'),
    [],
  )
  const written = readFileSync(join(root, 'compose.yaml'), 'utf8')
  const { services } = parse(written.replace('# command:', 'command:'), { merge: true }) as Composition
  t.match(services['rigel'], { command: ['-multiservice'] }, 'the comment is a line that works')
  t.match(
    readFileSync(join(root, 'docs/from-orion.md'), 'utf8'),
    /Orion's image starts the broker with `-multiservice`; Rigel's image does not/,
  )
})

test('whoever ends the broker gives it the time of an orderly end', async (t) => {
  const { stop_grace_period, environment } = compose.services['rigel'] ?? {}
  t.ok(Number.parseInt(stop_grace_period ?? '', 10) > Number(environment?.['RIGEL_SHUTDOWN_TIMEOUT']))
  const [, timeout] = /RIGEL_SHUTDOWN_TIMEOUT=(\d+)/.exec(unit) ?? []
  const [, stop] = /^TimeoutStopSec=(\d+)s$/m.exec(unit) ?? []
  t.ok(Number(stop) > Number(timeout) + 1)
  t.match(unit, /^KillSignal=SIGTERM$/m)
})

test('systemd takes the unit of the broker and those of its backups, and they are well protected', {
  skip,
}, async (t) => {
  const folder = t.testdir()
  for (const name of ['rigel.service', 'rigel-backup.service', 'rigel-backup.timer']) {
    const file = join(folder, name)
    const written = readFileSync(join(root, 'deploy', name), 'utf8')
    // The program need not be installed where this runs.
    writeFileSync(file, written.replace(/^ExecStart=\/usr\/bin\/rigel$/m, `ExecStart=${process.execPath}`))
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
    const complaints = verified.stderr.split('\n').filter((line) => line.includes(name))
    t.same([verified.status, complaints], [0, []], name)
    if (name.endsWith('.timer')) continue
    // Backups have root as their user, without its rights.
    const threshold = name === 'rigel.service' ? 20 : 30
    const words = ['security', '--offline=true', `--threshold=${threshold}`, file]
    const scored = spawnSync('systemd-analyze', words, { encoding: 'utf8' })
    t.equal(scored.status, 0, scored.stdout.trim().split('\n').at(-1) ?? '')
  }
})
