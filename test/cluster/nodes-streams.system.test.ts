import { setTimeout as delay } from 'node:timers/promises'
import { before, t as file, type Test, test } from 'tap'
import { isLong } from '../faults/run.js'
import { ListeningClient } from '../listening-client.js'
import type { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { givenNodes, rebalancedSoon, tokenFlags } from './given-nodes.js'
import { subscribedToTanks, tanks, Written } from './written-tanks.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

/** A program that listens without end: when its stream is over it goes on at the next node, with the last event that it has. */
class Program {
  readonly #t: Test
  readonly #nodes: readonly RunningBroker[]
  readonly #path: string
  readonly #take: (data: string) => void
  readonly #listening: Promise<void>
  #isOver = false
  /** The last event that it has. */
  last = ''
  /** The node that it listens at. */
  node: RunningBroker | undefined
  /** One that does not answer, which a proxy would leave out. */
  away: RunningBroker | undefined
  /** How many streams it has opened. */
  opened = 0
  /** Why its streams have ended, as far as that was said. */
  readonly ends: string[] = []

  constructor(t: Test, nodes: readonly RunningBroker[], path: string, take: (data: string) => void) {
    this.#t = t
    this.#nodes = nodes
    this.#path = path
    this.#take = take
    this.#listening = this.#listen()
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#listening
  }

  async #listen(): Promise<void> {
    for (let at = 0; !this.#isOver; at += 1) {
      const node = this.#nodes[at % this.#nodes.length]
      const named = this.last === '' ? '' : `lastEventId=${this.last}`
      const path = `${this.#path}${this.#path.includes('?') ? '&' : '?'}${named}`
      const client =
        node && node !== this.away && (await ListeningClient.open(this.#t, node, { path }).catch(() => undefined))
      if (client && client.status === 200) {
        this.node = node
        this.opened += 1
        await this.#read(client)
        this.node = undefined
      }
      if (client) client.close()
      await delay(50)
    }
  }

  async #read(client: ListeningClient): Promise<void> {
    let read = 0
    const readAll = (): void => {
      for (const { id, data } of client.notifications.slice(read)) {
        read += 1
        this.last = id ?? ''
        this.#take(data)
      }
    }
    for (; !client.isOver && !this.#isOver; await delay(10)) readAll()
    readAll()
    if (client.end !== undefined) this.ends.push(client.end)
  }
}

/** Whether a node owns a partition. */
async function owns(node: RunningBroker): Promise<boolean> {
  return /\nrigel_cluster_partitions_owned [1-9]/.test((await node.send('GET', '/metrics')).text)
}

test('a client listens at any node to what all of them send, whichever is killed', { skip: noEtcd }, async (t) => {
  const flags = [...tokenFlags(t.testdir()), ...rebalancedSoon, '-logLevel', 'INFO']
  const { nodes } = await givenNodes(t, etcd, ['a', 'b', 'c'], () => flags, { httpThreads: 2 })
  await subscribedToTanks(nodes, 'sse:')
  const listed = await nodes[0]?.send('GET', '/v2/subscriptions')
  const [, id = ''] = /"id":"([\da-f]{24})"/.exec(listed?.text ?? '') ?? []
  const events = `/v2/subscriptions/${id}/events`
  const areAll = async () => {
    const { text } = (await nodes[0]?.send('GET', '/metrics')) ?? { text: '' }
    const owners = await Promise.all(nodes.map(owns))
    return text.includes('\nrigel_cluster_members 3\n') && owners.filter((is) => is).length === 2
  }
  await until(areAll, 'two of three nodes own a partition')

  const written = new Written()
  const program = new Program(t, nodes, `${events}?confirm=explicit`, (body) => written.accept({ body }))
  const notified = () => until(() => written.isNotified, 'all acknowledged changes have come')
  await written.setAll(...nodes)
  await notified()
  t.same(
    program.ends.filter((why) => why !== 'interrupted'),
    [],
    'it is interrupted at most',
  )

  const killed = async (node: RunningBroker | undefined): Promise<void> => {
    if (node === undefined) throw new Error('there is no such node')
    const others = nodes.filter((each) => each !== node)
    const writing = written.setAll(...others)
    await node.end('SIGKILL')
    await writing
    await written.setAll(...others)
    await notified()
    await node.run()
    await written.setAll(...nodes)
    await notified()
  }
  await until(() => program.node !== undefined, 'it listens')
  await t.test('the node where it listens', () => killed(program.node))
  await until(() => program.node !== undefined, 'it listens')
  await t.test('a node that sends, and where it does not listen', async () => {
    const others = nodes.filter((node) => node !== program.node)
    let sending: RunningBroker | undefined
    await until(async () => {
      const own = await Promise.all(others.map(owns))
      sending = others[own.indexOf(true)]
      return sending !== undefined
    }, 'another node owns a partition')
    await killed(sending)
  })
  await until(() => program.node !== undefined, 'it listens')
  if (isLong) {
    await t.test('a node that sends, for so long that others send for it', async (t) => {
      const others = nodes.filter((node) => node !== program.node)
      const owners = await Promise.all(others.map(owns))
      const paused = others[owners.indexOf(true)]
      const lost = 'this node has lost its lease'
      const times = paused?.output.split(lost).length ?? 0
      program.away = paused
      paused?.signal('SIGSTOP')
      await written.setAll(...nodes.filter((node) => node !== paused))
      await notified()
      paused?.signal('SIGCONT')
      await until(() => (paused?.output.split(lost).length ?? 0) > times, 'it hears that it was away')
      await written.setAll(...nodes)
      await notified()
      t.notOk(program.ends.includes('replaced'))
    })
  }
  written.check(t)

  await t.test('what has come is confirmed at any node', async (t) => {
    await until(() => program.node !== undefined, 'it listens')
    const confirm = async () =>
      (await nodes[0]?.send('POST', events, undefined, { 'Last-Event-ID': program.last }))?.status === 204
    await until(confirm, 'all nodes know what has come')
    t.equal((await nodes[0]?.send('POST', events, undefined, { 'Last-Event-ID': '00000000.0-1' }))?.status, 400)
  })

  await t.test(
    'the newest client gets the notifications, whichever node it and the one before listen at',
    async (t) => {
      const node = nodes.find((each) => each !== program.node)
      if (node === undefined) throw new Error('there are three')
      const client = await ListeningClient.open(t, node, { path: events })
      await until(() => program.ends.includes('replaced'), 'the one before is told')
      await program.end()
      client.close()
    },
  )

  await t.test('clients of a group share the entities at several nodes', async (t) => {
    const heard = nodes.slice(0, 2).map(() => new Set<string>())
    const path = `${events}?group=shift&confirm=explicit`
    const shift = heard.map((own, at) => {
      const node = nodes[at]
      return new Program(t, node === undefined ? [] : [node], path, (body) => {
        if (written.isNewest({ body })) own.add(/Tank\d/.exec(body)?.[0] ?? '')
        written.accept({ body })
      })
    })
    await until(() => shift.every(({ node }) => node !== undefined), 'both listen')
    const ofBoth = (): readonly string[] => tanks.filter((tank) => heard.every((own) => own.has(tank)))
    /** Whether both hear of a change of all entities, and neither has to listen anew meanwhile: what was sent to it may go to the other. */
    const shared = async (): Promise<boolean> => {
      for (const own of heard) own.clear()
      const opened = shift.map((program) => program.opened)
      await written.setAll(...nodes)
      await notified()
      return heard.every(({ size }) => size > 0) && shift.every((program, at) => program.opened === opened[at])
    }
    // Each node that sends hears of a client at another one a moment after that listens: what was sent to the one before may come again.
    await until(async () => (await shared()) && ofBoth().length === 0, 'all nodes know of both')
    await until(shared, 'both hear of all once more')
    t.same(ofBoth(), [], 'each entity is notified to one of them')
    for (const program of shift) await program.end()
  })
  written.check(t)
  for (const node of nodes) await node.endsInOrder(t)
})
