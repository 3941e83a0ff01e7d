import { join } from 'node:path'
import { before, t as file, type Test, test } from 'tap'
import { FarEnd, type Responder } from '../far-end.js'
import { isLong } from '../faults/run.js'
import type { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { confirmedText } from './given.js'
import { givenNodes, setLevel } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

/** Updates one tank without end, at a node that takes connections: a connection that breaks says nothing of the update. */
class Writer {
  readonly id: string
  readonly #nodes: readonly RunningBroker[]
  #at: number
  #isOver = false
  #acknowledged = 0
  /** Responses that are no acknowledgement. */
  readonly refusals: string[] = []
  readonly #writing: Promise<void>

  constructor(number: number, nodes: readonly RunningBroker[]) {
    this.id = `Tank${number}`
    this.#nodes = nodes
    this.#at = number
    this.#writing = this.#write()
  }

  get acknowledged(): number {
    return this.#acknowledged
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#writing
  }

  async #write(): Promise<void> {
    while (!this.#isOver) {
      const node = this.#nodes[this.#at % this.#nodes.length]
      if (node === undefined) throw new Error('there is no node')
      const value = this.#acknowledged + 1
      const isDone = await setLevel(node, this.id, String(value)).catch(() => undefined)
      if (isDone === undefined) this.#at += 1
      else if (isDone) this.#acknowledged = value
      else this.refusals.push(`${value} at node ${this.#at % this.#nodes.length}`)
    }
  }
}

/** As whoever restarts nodes waits for: each is ready, and knows of both. */
async function areTogether(nodes: readonly RunningBroker[]): Promise<boolean> {
  const states = nodes.map(async (node) => {
    const { status } = await node.send('GET', '/health/ready')
    const { text } = await node.send('GET', '/metrics')
    return status === 200 && text.includes('\nrigel_cluster_members 2\n')
  })
  return (await Promise.all(states)).every((is) => is)
}

/** Each change is sent to a receiver that answers in its own way. */
async function notified(t: Test, node: RunningBroker | undefined, respond: Responder): Promise<FarEnd> {
  const receiver = await FarEnd.listen(t, respond)
  const subscribed = await node?.send('POST', '/v2/subscriptions', {
    subject: { entities: [{ idPattern: '.*', type: 'Tank' }] },
    notification: { http: { url: receiver.url() } },
  })
  t.equal(subscribed?.status, 201)
  return receiver
}

/** Something is always on its way to such a receiver. */
const slowly: Responder = (_, response) => void setTimeout(() => response.end(), 25)

test('nodes that are restarted one after the other refuse no update and lose none', { skip: noEtcd }, async (t) => {
  const folder = t.testdir({ token: `${'t'.repeat(40)}\n` })
  const flags = () => [
    '-clusterTokenFile',
    join(folder, 'token'),
    '-logLevel',
    'INFO',
    // A receiver that answers late is no reason to send again.
    '-httpTimeout',
    '60000',
    ...(isLong ? ['-shutdownTimeout', '14'] : []),
  ]
  const { nodes } = await givenNodes(t, etcd, ['a', 'b'], flags)
  await until(() => areTogether(nodes), 'both are members')
  // The end of a node takes as long as it may where a receiver does not answer: meanwhile others have what it had.
  const receiver = await notified(t, nodes[0], isLong ? () => {} : slowly)
  const writers = Array.from({ length: 6 }, (_, number) => new Writer(number, nodes))
  const goOn = (): Promise<true> => {
    const before = writers.map(({ acknowledged }) => acknowledged)
    return until(
      () => writers.every(({ acknowledged }, at) => acknowledged > (before[at] ?? 0) + 3),
      'all writers go on',
    )
  }
  await goOn()
  for (const node of nodes) {
    await node.endsInOrder(t)
    const [, took_ms] = /other nodes own the [12] partitions of this one in (\d+) ms/.exec(node.output) ?? []
    t.ok(took_ms, `what it has had is handed over, in ${took_ms} ms`)
    await goOn()
    await node.run()
    await until(() => areTogether(nodes), 'all are members again, and know it')
    await goOn()
  }
  for (const writer of writers) await writer.end()

  t.same(
    writers.flatMap(({ refusals }) => refusals),
    [],
    'nothing is refused',
  )
  t.comment(`${writers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)} updates were acknowledged`)
  for (const node of nodes) {
    for (const { id, acknowledged } of writers) t.equal(await confirmedText(node, id, 'level'), String(acknowledged))
  }
  const given = () => receiver.received.map(({ headers }) => headers['rigel-notification-id'])
  if (!isLong) {
    const all = writers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
    await until(() => new Set(given()).size >= all, 'all changes are notified')
    t.equal(given().length, new Set(given()).size, 'none is notified twice')
  }
  t.same(await Promise.all(nodes.map((node) => node.end('SIGTERM'))), [0, 0])
  // Between the two signals one of them may have taken over everything.
  for (const { output } of nodes) t.notMatch(output, /have no other owner/, 'no node waits for others that end as well')
})
