import { setTimeout as delay } from 'node:timers/promises'
import { before, t as file, test } from 'tap'
import { items, member } from '../../bench/ngsi.js'
import { shardOf } from '../../src/hash.js'
import type { RunningBroker } from '../running.js'
import { during, until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { attributeText } from './given.js'
import { givenNodes, rebalancedSoon, setLevel, setLevels, tokenFlags } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

/** The partitions of nodes a and b, as one of them says. */
async function owned(node: RunningBroker): Promise<readonly unknown[][]> {
  const { json } = await node.send('GET', '/admin/cluster')
  return items(member(json, 'nodes')).map((each) => [...items(member(each, 'owns'))])
}

test('clients that wait for a node which does not answer keep no permits from what others can do', {
  skip: noEtcd,
}, async (t) => {
  const token = tokenFlags(t.testdir())
  const flags = [...rebalancedSoon, ...token, '-reqPoolSize', '24']
  const { nodes } = await givenNodes(t, etcd, ['a', 'b'], () => flags)
  const [a, b] = nodes
  if (a === undefined || b === undefined) throw new Error('two nodes were started')
  await setLevels(a, '1')
  await until(async () => (await owned(a)).every((partitions) => partitions.length === 1), 'each owns a partition')
  const [ofA] = await owned(a)
  const tanks = Array.from({ length: 8 }, (_, number) => `Tank${number}`)
  const isOfA = (id: string): boolean => shardOf('', id, 2) === ofA?.[0]
  const [near, far] = [tanks.find(isOfA), tanks.find((id) => !isOfA(id))]
  if (near === undefined || far === undefined) throw new Error('each partition has a tank')

  b.signal('SIGSTOP')
  t.teardown(() => b.signal('SIGCONT'))
  let waiting = 0
  const askOfB = (): void => {
    for (; waiting < 60; waiting += 1) {
      const asked = waiting % 2 === 0 ? setLevel(a, far, '2') : attributeText(a, far, 'level')
      void asked.catch(() => {}).finally(() => (waiting -= 1))
    }
  }
  let done = 0
  const servedTenTimes = async (): Promise<boolean> => {
    const isSet = await setLevel(a, near, `${done}`)
    if (isSet && (await attributeText(a, near, 'level')) === `${done}`) done += 1
    return done === 10
  }
  askOfB()
  await delay(500)
  await during(until(servedTenTimes, 'what the other node owns is updated and read'), () => delay(10).then(askOfB))
  t.equal((await owned(a)).flat().length, 2)
  t.same((await owned(a))[0], ofA, 'it has not taken over what it waits for')
})
