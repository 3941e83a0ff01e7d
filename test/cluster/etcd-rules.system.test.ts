import { t as file, test } from 'tap'
import { EtcdClient } from '../../src/storage/etcd/etcd-client.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { checkRules } from './etcd-rules.js'

// It compacts what others may watch, so its etcd is its own.
test('a real etcd has the rules of that in memory', { skip: noEtcd }, async (t) => {
  const etcd = await EtcdMembers.start(file, 1)
  // A slow disk may take seconds for what it is asked once.
  const client = new EtcdClient({ urls: etcd.urls }, 60_000)
  t.teardown(() => client.close())
  await checkRules(t, client, '/rules')
})
