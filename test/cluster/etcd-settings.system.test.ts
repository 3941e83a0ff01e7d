import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { EtcdClient } from '../../src/storage/etcd/etcd-client.js'
import { EtcdEngine } from '../../src/storage/etcd/etcd-engine.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { itsKey, unknownCertificate } from '../delivery/certificate.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { whenAvailable } from './given.js'

const start = 0 as LogSequence

test('etcd that has no room says so, and takes records again when there is some', { skip: noEtcd }, async (t) => {
  const etcd = await EtcdMembers.start(t, 1, ['--quota-backend-bytes', '1000000'])
  const engine = new EtcdEngine({ urls: etcd.urls }, '/full')
  t.teardown(() => engine.close())
  t.ok((await whenAvailable(() => engine.begin('a test', new Map([[0, start]]), 'its nodes'))).ok)
  let last = start
  // What it has on disk it finds out ten times a second.
  for (let records = 0; records < 400; records += 1) {
    const bytes = randomBytes(200_000)
    // A member may say that it is full of what it has carried out.
    const isOwn = (standing: Uint8Array): boolean => bytes.equals(standing)
    const appended = await whenAvailable(() => engine.append([{ log: 0, expected: last, bytes, isOwn }]))
    if (!appended.ok) throw new Error(appended.error.reason)
    const [outcome] = appended.value
    if (outcome?.ok) last = outcome.value
    else {
      t.same(outcome?.error, { kind: 'etcdFull' })
      t.pass(`full after ${records} records`)
      const truncated = await whenAvailable(() => engine.truncate(new Map([[0, last]])))
      t.ok(truncated.ok, 'what is needed no more still goes')
      return
    }
  }
  t.fail('it never became full')
})

test('a record that etcd is not set up for is too large, and so alone', { skip: noEtcd }, async (t) => {
  const etcd = await EtcdMembers.start(t, 1, ['--max-request-bytes', '100000'])
  const engine = new EtcdEngine({ urls: etcd.urls }, '/large')
  t.teardown(() => engine.close())
  t.ok((await whenAvailable(() => engine.begin('a test', new Map([0, 1].map((log) => [log, start])), 'its nodes'))).ok)
  const offer = (log: number, size: number) => ({ log, expected: start, bytes: randomBytes(size), isOwn: () => true })
  const offers = [offer(0, 90_000), offer(1, 150_000)]
  const appended = await whenAvailable(() => engine.append(offers))
  t.match(appended, {
    ok: true,
    value: [
      { ok: true, value: 1 },
      { ok: false, error: { kind: 'tooLarge' } },
    ],
  })
})

test('users of etcd show their password', { skip: noEtcd }, async (t) => {
  const etcd = await EtcdMembers.start(t, 1)
  etcd.control(['user', 'add', 'root:secret'])
  etcd.control(['user', 'grant-role', 'root', 'root'])
  etcd.control(['auth', 'enable'])
  const nobody = new EtcdEngine({ urls: etcd.urls }, '/users')
  const wrong = new EtcdClient({ urls: etcd.urls, user: { name: 'root', password: 'guessed' } })
  const root = new EtcdEngine({ urls: etcd.urls, user: { name: 'root', password: 'secret' } }, '/users')
  t.teardown(() => {
    for (const engine of [nobody, wrong, root]) engine.close()
  })
  t.notOk((await nobody.extent(0)).ok)
  t.match(await whenAvailable(() => wrong.call('status', {})), {
    ok: false,
    error: { kind: 'refused', reason: /authentication failed/ },
  })
  t.ok((await whenAvailable(() => root.begin('a test', new Map([[0, start]]), 'its nodes'))).ok)
})

test('etcd is reached over TLS, by certificates of both', { skip: noEtcd }, async (t) => {
  const folder = t.testdir()
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(cert, unknownCertificate)
  writeFileSync(key, itsKey)
  const flags = ['--cert-file', cert, '--key-file', key, '--trusted-ca-file', cert, '--client-cert-auth']
  const etcd = await EtcdMembers.start(t, 1, flags, { scheme: 'https' })
  const trusted = new EtcdEngine({ urls: etcd.urls, ca: cert, cert, key }, '/tls')
  const untrusted = new EtcdEngine({ urls: etcd.urls, ca: cert }, '/tls')
  t.teardown(() => {
    trusted.close()
    untrusted.close()
  })
  await until(async () => (await trusted.extent(0)).ok, 'etcd answers')
  t.same(await whenAvailable(() => trusted.extent(0)), { ok: true, value: undefined })
  t.notOk((await untrusted.extent(0)).ok)
  t.throws(() => new EtcdEngine({ urls: etcd.urls, ca: join(folder, 'missing.pem') }, '/tls'), /ENOENT/)
})
