import { createServer } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { type Test, test } from 'tap'
import { EtcdClient } from '../../src/storage/etcd/etcd-client.js'
import { itsKey, unknownCertificate } from '../delivery/certificate.js'
import { listening } from '../far-end.js'
import { Authority } from '../node-link/certificates.js'

/** Why an etcd there cannot be asked. */
async function reasonOf(t: Test, url: string, ca?: string): Promise<string> {
  const client = new EtcdClient({ urls: [url], ca })
  t.teardown(() => client.close())
  const asked = await client.call('memberList', {})
  return asked.ok ? '' : asked.error.reason
}

test('an etcd that cannot be reached is named with the reason', async (t) => {
  const refusing = 'http://127.0.0.1:1'
  t.equal(await reasonOf(t, refusing), `etcd ${refusing} does not answer (ECONNREFUSED)`)
  const silent = `http://127.0.0.1:${await listening(t, createServer())}`
  t.equal(await reasonOf(t, silent), `etcd ${silent} does not answer in time`)
})

test('a certificate of etcd that is not trusted is said', async (t) => {
  const folder = t.testdir({ 'ca.pem': new Authority().ca })
  const port = await listening(t, createTlsServer({ key: itsKey, cert: unknownCertificate }))
  const url = `https://localhost:${port}`
  t.match(
    await reasonOf(t, url, join(folder, 'ca.pem')),
    /^etcd https:\/\/localhost:\d+ cannot be reached: .*certificate/,
  )
})
