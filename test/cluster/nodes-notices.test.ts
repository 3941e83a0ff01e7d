import { join } from 'node:path'
import { before, t as file, type Test, test } from 'tap'
import { answering, FarEnd, type Received } from '../far-end.js'
import { isLong } from '../faults/run.js'
import type { RunningBroker } from '../running.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { givenNodes, setLevel, until } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.start(file, 1, file.testdir())
  })
}

const tanks = Array.from({ length: 6 }, (_, number) => `Tank${number}`)

/** The values of tanks that were acknowledged, and those that a receiver has accepted, each in order. */
class Written {
  readonly #sent = new Map<string, number>()
  readonly #acknowledged = new Map<string, number[]>(tanks.map((id) => [id, []]))
  readonly #accepted = new Map<string, number[]>(tanks.map((id) => [id, []]))

  /** Gives each tank a new value, at one node after the other until it is acknowledged: no value is sent twice. */
  async setAll(...nodes: readonly RunningBroker[]): Promise<void> {
    await Promise.all(tanks.map((id) => this.#set(id, nodes)))
  }

  accept({ body }: Received): void {
    const [, id = '', value = ''] = /"id" ?: ?"(Tank\d)".*"value" ?: ?"(\d+)"/s.exec(body) ?? []
    this.#accepted.get(id)?.push(Number(value))
  }

  get isNotified(): boolean {
    return tanks.every((id) => {
      const accepted = new Set(this.#accepted.get(id))
      return this.#acknowledged.get(id)?.every((value) => accepted.has(value))
    })
  }

  /** Each value counts where it came first. */
  check(t: Test): void {
    for (const id of tanks) {
      const acknowledged = this.#acknowledged.get(id) ?? []
      const firsts = [...new Set(this.#accepted.get(id))].filter((value) => acknowledged.includes(value))
      t.same(firsts, acknowledged, `${id} is notified in order`)
    }
    const repeated = tanks.map((id) => (this.#accepted.get(id)?.length ?? 0) - new Set(this.#accepted.get(id)).size)
    t.comment(`${repeated.reduce((sum, one) => sum + one, 0)} notifications came twice`)
  }

  async #set(id: string, nodes: readonly RunningBroker[]): Promise<void> {
    let tries = 0
    const isAcknowledged = async (): Promise<boolean> => {
      const value = (this.#sent.get(id) ?? 0) + 1
      this.#sent.set(id, value)
      const node = nodes[tries % nodes.length]
      tries += 1
      const isDone = node !== undefined && (await setLevel(node, id, String(value)))
      if (isDone) this.#acknowledged.get(id)?.push(value)
      return isDone
    }
    await until(isAcknowledged, `${id} is set`)
  }
}

/** Two nodes that reach each other, with one subscription to all tanks. */
async function subscribedNodes(t: Test, reference: string): Promise<readonly [RunningBroker, RunningBroker]> {
  const folder = t.testdir({ token: `${'t'.repeat(40)}\n` })
  const flags = ['-logLevel', 'INFO', '-notifRetryMin', '50', '-notifRetryMax', '200']
  const more = () => ['-clusterTokenFile', join(folder, 'token'), ...flags]
  const { nodes } = await givenNodes(t, etcd, ['a', 'b'], more)
  const [a, b] = nodes
  if (a === undefined || b === undefined) throw new Error('there are two nodes')
  const isMade = async (): Promise<boolean> => {
    const { text } = await b.send('POST', '/v1/subscribeContext', {
      entities: [{ type: 'Tank', isPattern: 'true', id: '.*' }],
      ...{ reference, duration: 'P1D' },
      notifyConditions: [{ type: 'ONCHANGE', condValues: ['level'] }],
    })
    return text.includes('subscribeResponse')
  }
  await until(isMade, 'the subscription is made')
  for (const node of nodes) {
    const isShown = async () => (await node.send('GET', '/v2/subscriptions')).text.includes(reference)
    await until(isShown, 'the subscription is in force on each node')
  }
  return [a, b]
}

test('every acknowledged change is notified in order, whoever is killed or paused while notifications wait', {
  skip: noEtcd,
}, async (t) => {
  const written = new Written()
  const accepting: FarEnd['answer'] = (received, response) => {
    written.accept(received)
    response.end()
  }
  const end = await FarEnd.listen(t, accepting)
  const [a, b] = await subscribedNodes(t, end.url())
  const notified = () => until(() => written.isNotified, 'all acknowledged changes are notified')
  await written.setAll(a, b)
  await notified()

  if (isLong) {
    end.answer = answering(503)
    await written.setAll(a, b)
    await written.setAll(a, b)
    await a.end('SIGKILL')
    end.answer = accepting
    await written.setAll(b)
    await notified()
    await a.run()
  }

  // Who was there when the other one was not owns partitions.
  const [owner, other] = isLong ? [b, a] : [a, b]
  end.answer = answering(503)
  await written.setAll(a, b)
  const heard = 'another node owns the partition'
  const times = owner.output.split(heard).length
  owner.signal('SIGSTOP')
  await written.setAll(other)
  end.answer = accepting
  await notified()
  owner.signal('SIGCONT')
  await until(
    () => owner.output.split(heard).length > times,
    'the one that was paused hears that it is no owner any more',
  )
  await written.setAll(owner, other)
  await notified()
  written.check(t)
  for (const node of [a, b]) t.equal(await node.end('SIGTERM'), 0)
})
