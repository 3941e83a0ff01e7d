import { join } from 'node:path'
import { before, t as file, test } from 'tap'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { attributeText, freshName } from './given.js'
import { nodeFlags, tokenFlags } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

/** The flags of the nodes of a cluster of several, by their names. */
function clusterOf(folder: string): (node: string) => readonly string[] {
  const cluster = freshName()
  return (node) => [...nodeFlags(etcd, cluster, node), ...tokenFlags(folder)]
}

function level(id: string, value: string) {
  return { id, type: 'Tank', isPattern: 'false', attributes: [{ name: 'level', type: 'Number', value }] }
}

/** Updates entities of all partitions until each of them is carried out. */
async function updated(broker: RunningBroker, action: 'APPEND' | 'UPDATE', value: string): Promise<void> {
  for (const id of tanks) {
    const isDone = async (): Promise<boolean> => {
      const { status, text } = await broker.update(action, level(id, value))
      return status === 200 && /"code" ?: ?"200"/.test(text) && !/"code" ?: ?"[45]/.test(text)
    }
    await until(isDone, `${id} is updated`)
  }
}

/** What a broker answers to reads of entities of all partitions: nothing where it is not confirmed. */
function levels(broker: RunningBroker): Promise<readonly (string | undefined)[]> {
  return Promise.all(tanks.map((id) => attributeText(broker, id, 'level')))
}

/** Resolves when a broker shows one value of all of them. */
function shown(broker: RunningBroker, value: string): Promise<true> {
  return until(async () => (await levels(broker)).every((level) => level === value), `${value} is shown`)
}

const tanks = Array.from({ length: 8 }, (_, number) => `Tank${number}`)

test('who is paused is taken over from by a replica, and shows nothing old when it goes on', {
  skip: noEtcd,
}, async (t) => {
  const folder = t.testdir()
  const flags = clusterOf(folder)
  const owner = await RunningBroker.startOn(t, join(folder, 'a'), flags('a'))
  // Nothing was truncated yet: the replica begins with what the log holds.
  const replica = await RunningBroker.startOn(t, join(folder, 'b'), flags('b'))
  await updated(owner, 'APPEND', '1')
  await shown(owner, '1')

  owner.signal('SIGSTOP')
  const began_ms = performance.now()
  await updated(replica, 'UPDATE', '2')
  t.comment(`the replica had taken over after ${Math.round(performance.now() - began_ms)} ms`)
  await shown(replica, '2')
  const late = levels(owner)
  owner.signal('SIGCONT')
  t.notOk((await late).includes('1'), 'what it is asked while it sleeps is not answered from what it has')
  await until(() => owner.output.includes('another node owns the partition'), 'it hears that it is no owner any more')

  // Who is killed starts again as a replica, and takes what it has missed from the log.
  await owner.end('SIGKILL')
  await updated(replica, 'UPDATE', '4')
  await owner.run()
  await replica.endsInOrder(t)
  await updated(owner, 'UPDATE', '5')
  await shown(owner, '5')
})
