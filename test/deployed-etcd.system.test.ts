import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { parse } from 'yaml'
import { EtcdMembers, noEtcd } from './cluster/etcd-members.js'
import { freshName } from './cluster/given.js'
import { nodeFlags, setLevel, tokenFlags } from './cluster/given-nodes.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const script = join(root, 'deploy', 'cluster', 'certificates.sh')
const skip = noEtcd || (spawnSync('openssl', ['version']).status === 0 ? false : 'there is no openssl')

test('with the certificates of the script etcd as in compose.cluster.yaml serves brokers, and nobody else', {
  skip,
}, async (t) => {
  const folder = t.testdir()
  const certificates = join(folder, 'certificates')
  const made = spawnSync(script, [certificates], { encoding: 'utf8' })
  t.equal(made.status, 0, made.stderr)
  const file = (name: string): string => join(certificates, name)
  const etcd = await EtcdMembers.start(t, 1, etcdFlags(file), { scheme: 'https' })
  const [url = ''] = etcd.urls
  const curl = (more: readonly string[]) => {
    const words = ['-s', '--cacert', file('ca.pem'), ...more, '-d', '{"key":"AA==","range_end":"AA=="}']
    return spawnSync('curl', [...words, `${url}/v3/kv/range`], { encoding: 'utf8' })
  }
  const flags = [...nodeFlags(etcd, freshName(), 'a'), ...tokenFlags(folder)]
  const shown = ['-etcdCa', file('ca.pem'), '-etcdCert', file('rigel.pem'), '-etcdKey', file('rigel.key')]
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), [...flags, ...shown])
  await until(() => setLevel(broker, 'Tank1', '1'), 'an update is taken')
  t.match(curl(['--cert', file('rigel.pem'), '--key', file('rigel.key')]).stdout, /kvs/, 'with a certificate')
  t.not(curl([]).status, 0, 'without one')
  await broker.endsInOrder(t)
  await t.rejects(
    RunningBroker.startOn(t, join(folder, 'data'), [...flags, '-etcdCa', file('ca.pem')]),
    'a broker without one does not start',
  )
})

/** The flags that the variables of a member of the composition stand for. */
function etcdFlags(file: (name: string) => string): readonly string[] {
  const files: Readonly<Record<string, string>> = {
    '/run/secrets/etcd-authority': file('ca.pem'),
    '/run/secrets/etcd-certificate': file('etcd.pem'),
    '/run/secrets/etcd-key': file('etcd.key'),
  }
  const { services } = parse(readFileSync(join(root, 'compose.cluster.yaml'), 'utf8'), { merge: true })
  const environment: Readonly<Record<string, string>> = services['etcd-0'].environment
  return Object.entries(environment).flatMap(([variable, value]) => {
    // The one member of the test reaches itself without TLS.
    if (!/^ETCD_(TRUSTED_CA_FILE|CERT_FILE|KEY_FILE|CLIENT_CERT_AUTH)$/.test(variable)) return []
    const flag = `--${variable.slice('ETCD_'.length).toLowerCase().replaceAll('_', '-')}`
    return [`${flag}=${files[value] ?? value}`]
  })
}
