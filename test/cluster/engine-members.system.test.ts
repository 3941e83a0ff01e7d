import { test } from 'tap'
import { EngineMembers } from '../../src/storage/etcd/engine-watch.js'
import { EtcdClient, type EtcdSettings } from '../../src/storage/etcd/etcd-client.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'

test('the URLs that members announce are known, for clients and for each other, also where etcd has users', {
  skip: noEtcd,
}, async (t) => {
  const etcd = await EtcdMembers.start(t, 3)
  await etcd.untilAllHealthy()
  const announced = async (settings: EtcdSettings): Promise<readonly string[]> => {
    const client = new EtcdClient(settings)
    const all: string[] = []
    const members = new EngineMembers({
      client,
      told: (urls) => all.push(...urls),
      failed: (reason) => t.fail(reason),
    })
    await members.look()
    client.close()
    return all.toSorted()
  }
  const expected = [...etcd.urls, ...etcd.peers].toSorted()
  t.same(await announced({ urls: etcd.urls }), expected)
  t.same(await announced({ urls: etcd.urls.slice(1, 2) }), expected, 'one member knows all')
  etcd.control(['user', 'add', 'root:secret'])
  etcd.control(['user', 'grant-role', 'root', 'root'])
  etcd.control(['role', 'add', 'rigel'])
  etcd.control(['role', 'grant-permission', 'rigel', '--prefix=true', 'readwrite', '/rigel/'])
  etcd.control(['user', 'add', 'rigel:secret'])
  etcd.control(['user', 'grant-role', 'rigel', 'rigel'])
  etcd.control(['auth', 'enable'])
  t.same(await announced({ urls: etcd.urls, user: { name: 'rigel', password: 'secret' } }), expected, 'a user')
})
