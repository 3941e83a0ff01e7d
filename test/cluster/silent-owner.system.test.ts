import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
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
  /** Whether all that is asked was served while the silent node still owned its partition: on a busy machine it may lose that first. */
  const isServed = async (): Promise<boolean> => {
    await until(async () => (await owned(a)).every((partitions) => partitions.length === 1), 'each owns a partition')
    const before = await owned(a)
    const tanks = Array.from({ length: 8 }, (_, number) => `Tank${number}`)
    const isOfA = (id: string): boolean => shardOf('', id, 2) === before[0]?.[0]
    const [near, far] = [tanks.find(isOfA), tanks.find((id) => !isOfA(id))]
    if (near === undefined || far === undefined) throw new Error('each partition has a tank')
    b.signal('SIGSTOP')
    try {
      await served(a, near, far)
      return isDeepStrictEqual(await owned(a), before)
    } finally {
      b.signal('SIGCONT')
    }
  }
  await until(isServed, 'what a node owns is served while another one does not answer')
})

/** How often an entity is updated and read: the silent node loses its lease soon. */
const times = 4

/** Updates and reads an entity at its node some times, while sixty requests about an entity of a silent node wait there. */
async function served(node: RunningBroker, near: string, far: string): Promise<void> {
  let waiting = 0
  const ask = (): void => {
    for (; waiting < 60; waiting += 1) {
      const asked = waiting % 2 === 0 ? setLevel(node, far, '2') : attributeText(node, far, 'level')
      void asked.catch(() => {}).finally(() => (waiting -= 1))
    }
  }
  let done = 0
  const isServed = async (): Promise<boolean> => {
    const isSet = await setLevel(node, near, `${done}`)
    if (isSet && (await attributeText(node, near, 'level')) === `${done}`) done += 1
    return done === times
  }
  ask()
  await delay(500)
  await during(until(isServed, 'what the node owns is updated and read'), () => delay(100).then(ask))
}
