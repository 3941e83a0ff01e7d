import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { isLong } from '../faults/run.js'
import { RunningBroker } from '../running.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { attributeText, freshName } from './given.js'
import { nodeFlags, tokenFlags } from './given-nodes.js'

const rounds = Number(process.env['RIGEL_CLUSTER_ROUNDS'] ?? 20)
const names = ['a', 'b', 'c']
const entities = 9
const lasting_ms = 60_000

/** What is known of the values of one entity: they grow. */
class History {
  /** The highest value that was sent, that was acknowledged, and that a read has shown which has ended. */
  sent = 0
  acknowledged = 0
  shown = 0
  acknowledgements = 0
  reads = 0
  readonly broken: string[] = []

  /** To be called when a read begins; gives what takes the value that it has shown. */
  reading(node: string): (value: number) => void {
    const [acknowledged, shown] = [this.acknowledged, this.shown]
    return (value) => {
      this.reads += 1
      if (value < acknowledged) this.broken.push(`${node} shows ${value} after ${acknowledged} was acknowledged`)
      if (value < shown) this.broken.push(`${node} shows ${value} after ${shown} was shown`)
      if (value > this.sent) this.broken.push(`${node} shows ${value}, and ${this.sent} was sent last`)
      this.shown = Math.max(this.shown, value)
    }
  }
}

function tank(id: string, value: number) {
  const attributes = [{ name: 'level', type: 'Number', value: String(value) }]
  return { id, type: 'Tank', isPattern: 'false', attributes }
}

/** One of the numbers below it, by chance. */
function chance(below: number): number {
  return Math.floor(Math.random() * below)
}

test(`three nodes are killed and paused, ${rounds} times: no promise is broken`, {
  skip: noEtcd || (isLong ? false : 'takes minutes: RIGEL_FAULTS=long'),
}, async (t) => {
  t.setTimeout(120_000 + rounds * 60_000)
  const etcd = await EtcdMembers.start(t, 1, t.testdir())
  const cluster = freshName()
  const flags = (name: string) => [
    ...nodeFlags(etcd, cluster, name),
    ...tokenFlags(t.testdirName),
    ...['-partitions', '3', '-httpThreads', '1', '-logLevel', 'INFO'],
  ]
  const nodes: RunningBroker[] = []
  for (const name of names) {
    nodes.push(await RunningBroker.startOn(t, join(t.testdirName, name), flags(name)))
  }
  const owns = (node: RunningBroker): boolean => node.output.includes('this node owns the partition')
  for (const until = performance.now() + lasting_ms; !nodes.every(owns) && performance.now() < until; ) await delay(100)
  t.ok(nodes.every(owns), 'each has been handed over its share')
  const histories = new Map(Array.from({ length: entities }, (_, number) => [`Tank${number}`, new History()] as const))
  let isOver = false

  const write = async (id: string, history: History): Promise<void> => {
    for (let at = chance(nodes.length); !isOver; ) {
      history.sent += 1
      const value = history.sent
      // Nothing is given up: a request that is still under way could be carried out after later ones.
      const answer = await nodes[at]?.update('APPEND', tank(id, value)).catch(() => undefined)
      if (answer?.status === 200 && /"code" ?: ?"200"/.test(answer.text)) {
        history.acknowledged = value
        history.acknowledgements += 1
      } else at = (at + 1) % nodes.length
      await delay(5)
    }
  }
  const read = async (node: RunningBroker, name: string, id: string, history: History): Promise<void> => {
    while (!isOver) {
      const take = history.reading(name)
      const text = await attributeText(node, id, 'level').catch(() => undefined)
      if (text !== undefined) take(Number(text))
      await delay(20)
    }
  }
  const working = Array.from(histories, ([id, history]) => [
    write(id, history),
    ...nodes.map((node, at) => read(node, names[at] ?? '', id, history)),
  ]).flat()

  for (let round = 0; round < rounds; round += 1) {
    const victim = nodes[chance(nodes.length)]
    const isKilled = chance(2) === 0
    if (victim === undefined) continue
    if (isKilled) await victim.end('SIGKILL')
    else victim.signal('SIGSTOP')
    await delay(chance(11_000))
    if (isKilled) await victim.run()
    else victim.signal('SIGCONT')
    await delay(chance(4000))
    t.same(
      [...histories.values()].flatMap(({ broken }) => broken.slice(0, 3)),
      [],
      `round ${round}`,
    )
  }
  // Everybody is there again: all goes on.
  const before = Array.from(histories.values(), ({ acknowledgements }) => acknowledgements)
  const goesOn = (): boolean =>
    [...histories.values()].every(({ acknowledgements }, at) => acknowledgements > (before[at] ?? 0))
  for (const until = performance.now() + lasting_ms; !goesOn() && performance.now() < until; ) await delay(100)
  t.ok(goesOn(), 'every entity is updated again')
  isOver = true
  await Promise.all(working)
  const sum = (count: (history: History) => number): number =>
    [...histories.values()].reduce((all, history) => all + count(history), 0)
  t.comment(`${sum(({ acknowledgements }) => acknowledgements)} acknowledged, ${sum(({ reads }) => reads)} read`)
  t.same(
    [...histories.values()].flatMap(({ broken }) => broken),
    [],
  )
  for (const node of nodes) t.equal(await node.end('SIGTERM'), 0)
})
