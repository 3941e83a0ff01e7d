import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { isLong, underLoad } from '../faults/run.js'
import { RunningBroker } from '../running.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { freshName } from './given.js'
import { nodeFlags, tokenFlags } from './given-nodes.js'

const rounds = isLong ? 25 : 1

test(`the leader of etcd, and the broker, are killed under load, ${rounds} times: no promise is broken`, {
  skip: noEtcd,
}, async (t) => {
  t.setTimeout(300_000 + rounds * 40_000)
  const folder = t.testdir()
  const etcd = await EtcdMembers.start(t, 3)
  const broker = await RunningBroker.startOn(t, `${folder}/broker`, [
    ...[...nodeFlags(etcd, freshName(), 'a', { httpThreads: 2 }), ...tokenFlags(folder)],
    ...['-notifRetryMin', '50', '-notifRetryMax', '200'],
  ])
  await underLoad(t, broker, async (run) => {
    for (let round = 0; round < rounds; round += 1) {
      await delay(500)
      const leader = etcd.leader()
      await etcd.kill(leader)
      await delay(500)
      etcd.start(leader)
      await etcd.untilHealthy()
      await delay(500)
      await run.kill()
    }
    await delay(500)
  })
  await broker.endsInOrder(t)
})
