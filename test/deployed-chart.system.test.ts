import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { flagsByName } from '../src/flags/flags.js'
import { RunningBroker } from './running.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const chart = join(root, 'deploy', 'helm', 'rigel')
const ofCluster = ['-f', join(chart, 'values-cluster.yaml')]
const skip = spawnSync('helm', ['version']).status === 0 ? false : 'there is no helm'

interface Variable {
  readonly name: string
  readonly value?: string
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface Container {
  readonly env: readonly Variable[]
  readonly securityContext: unknown
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}

interface Pod {
  readonly terminationGracePeriodSeconds: number
  readonly securityContext: unknown
  readonly containers: readonly [Container]
  readonly volumes?: readonly { readonly name: string }[]
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: { readonly replicas?: number; readonly template?: { readonly spec: Pod } }
}

/** What the chart makes of its values and of some more words. */
function rendered(...words: readonly string[]): readonly Manifest[] {
  const text = execFileSync('helm', ['template', 'city', chart, '--namespace', 'sensors', ...words], {
    encoding: 'utf8',
    stdio: 'pipe',
  })
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}

function podOf(manifests: readonly Manifest[]): Pod {
  const pod = manifests.find(({ kind }) => kind === 'StatefulSet')?.spec.template?.spec
  if (pod === undefined) throw new Error('the chart has no nodes')
  return pod
}

/** The values of the variables that have one, by name. */
function environmentOf({ containers: [{ env }] }: Pod): Readonly<Record<string, string>> {
  return Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])))
}

test('helm finds nothing wrong with the chart, of one node or of three', { skip }, async (t) => {
  for (const words of [[], ofCluster]) {
    const { status, stdout } = spawnSync('helm', ['lint', '--strict', chart, ...words], { encoding: 'utf8' })
    t.equal(status, 0, stdout)
  }
  const kinds = (manifests: readonly Manifest[]) => manifests.map(({ kind }) => kind).toSorted()
  t.same(kinds(rendered()), ['Service', 'Service', 'StatefulSet'])
  t.same(kinds(rendered(...ofCluster)), ['NetworkPolicy', 'PodDisruptionBudget', 'Service', 'Service', 'StatefulSet'])
})

test('nodes are protected, have the time of an orderly end, and get variables that the program has', {
  skip,
}, async (t) => {
  const variables = new Set([...flagsByName.values()].map(({ variable }) => variable))
  for (const words of [['--set', 'adminTokenSecret=management'], ofCluster]) {
    const pod = podOf(rendered(...words))
    const [container] = pod.containers
    t.match(pod.securityContext, { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } })
    t.match(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    for (const { name } of container.env) t.ok(variables.has(name), name)
    t.ok(pod.terminationGracePeriodSeconds > Number(environmentOf(pod)['RIGEL_SHUTDOWN_TIMEOUT']))
    const mounted = container.volumeMounts.map(({ name }) => name)
    t.same(mounted, ['data', ...(pod.volumes ?? []).map(({ name }) => name)])
    const { RIGEL_DB_PATH = '', ...others } = environmentOf(pod)
    const files = [RIGEL_DB_PATH, ...Object.values(others).filter((value) => value.startsWith('/'))]
    for (const file of files) {
      t.ok(
        container.volumeMounts.some(({ mountPath }) => file.startsWith(`${mountPath}/`)),
        file,
      )
    }
  }
})

test('three nodes have names of their own, under which they reach each other', { skip }, async (t) => {
  const manifests = rendered(...ofCluster)
  t.equal(manifests.find(({ kind }) => kind === 'StatefulSet')?.spec.replicas, 3)
  t.match(environmentOf(podOf(manifests)), {
    RIGEL_CLUSTER_ADVERTISE: '$(RIGEL_NODE_NAME).city-nodes.sensors.svc',
    RIGEL_CLUSTER_URL: /^https:[^,]+,https:[^,]+,https:[^,]+$/,
  })
  t.ok(manifests.some(({ kind, metadata }) => kind === 'Service' && metadata.name === 'city-nodes'))
  t.throws(() => rendered('--set', 'nodes=3'), /several nodes need cluster.etcd/)
  t.throws(() => rendered('--set', 'nodes=3,cluster.etcd={http://etcd:2379}'), /several nodes need cluster.tokenSecret/)
})

test('a broker with the environment of one node answers the probes', { skip }, async (t) => {
  const pod = podOf(rendered('--set-string', 'settings.ORION_MULTI_SERVICE=true'))
  const { RIGEL_DB_PATH: _, ...environment } = environmentOf(pod)
  const broker = await RunningBroker.start(t, [], { environment })
  const [{ startupProbe, livenessProbe, readinessProbe }] = pod.containers
  for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
    t.equal((await broker.send('GET', httpGet.path)).status, 200, httpGet.path)
  }
})

test('chart and package have one version', async (t) => {
  const version = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }).version
  const text = readFileSync(join(chart, 'Chart.yaml'), 'utf8')
  t.match(text, `\nversion: ${version}\n`)
  t.match(text, `\nappVersion: "${version}"\n`)
})
