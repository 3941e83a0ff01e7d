import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { member, refusalIn } from '../../bench/ngsi.js'
import { FarEnd } from '../far-end.js'
import { isLong } from '../faults/run.js'
import type { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { inTime } from './given.js'
import { isAgain, ValueHistory, valueOfWrite } from './value-history.js'
import { subscribedToTanks } from './written-tanks.js'

const writers = 6

/** Whoever is not answered for so long does not wait any more: the node may be paused. */
const patience_ms = 8000

/** Between two requests of a client: the clients leave most of the machine to the nodes, and to the tests beside them. */
const pause_ms = isLong ? 40 : 120

/** So many are looked at in one request. */
const page = 1000

/** A writer: its entity, until it has another one, and how often something was acknowledged. */
interface Writer {
  history: ValueHistory
  entities: number
  acknowledgements: number
}

/**
 * Clients of several nodes. Each entity has one writer, at one node after the other, which goes back to values; readers are at all nodes, and look at what
 * is written now and what was before; one subscription is about all entities.
 */
export class ClusterLoad {
  readonly #nodes: readonly RunningBroker[]
  readonly #writers: readonly Writer[]
  readonly #histories = new Map<string, ValueHistory>()
  /** How often each node has shown something. */
  readonly #reads: number[]
  readonly #working: readonly Promise<void>[]
  #isOver = false

  /** Starts the clients, which end with the test. */
  static async start(t: Test, nodes: readonly RunningBroker[]): Promise<ClusterLoad> {
    const accepting: { load?: ClusterLoad } = {}
    const receiver = await FarEnd.listen(t, ({ body }, response) => {
      receiver.received.length = 0
      // In every third second the receiver has trouble.
      const isWell = accepting.load?.isOver || Math.floor(performance.now() / 1000) % 3 > 0
      if (isWell) accepting.load?.accept(body)
      response.writeHead(isWell ? 200 : 503).end()
    })
    await subscribedToTanks(nodes, receiver.url())
    const load = new ClusterLoad(nodes)
    accepting.load = load
    t.teardown(() => load.#end())
    return load
  }

  private constructor(nodes: readonly RunningBroker[]) {
    this.#nodes = nodes
    this.#reads = nodes.map(() => 0)
    this.#writers = Array.from({ length: writers }, (_, number) => {
      return { history: this.#begun(`Tank${number}-0-`), entities: 1, acknowledgements: 0 }
    })
    const writing = this.#writers.map((writer, number) => this.#write(writer, number))
    const reading = nodes.flatMap((_, number) => [this.#read(number), this.#read(number)])
    this.#working = [...writing, ...reading]
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Resolves when all writers are acknowledged again, and all these nodes show something again. */
  async goesOn(nodes: readonly RunningBroker[] = this.#nodes): Promise<void> {
    const [written, read] = [this.#writers.map(({ acknowledgements }) => acknowledgements), [...this.#reads]]
    const isWritten = (): boolean =>
      this.#writers.every(({ acknowledgements }, at) => acknowledgements > (written[at] ?? 0) + 1)
    const isRead = (): boolean =>
      this.#nodes.every((node, at) => !nodes.includes(node) || (this.#reads[at] ?? 0) > (read[at] ?? 0) + 1)
    const progress =
      (): string => `${this.#writers.map(({ acknowledgements }, at) => acknowledgements - (written[at] ?? 0))} \
were acknowledged, ${this.#reads.map((reads, at) => reads - (read[at] ?? 0))} shown`
    await until(() => isWritten() && isRead(), 'the load goes on').catch((fault: unknown) => {
      throw new Error(`the load does not go on: ${progress()}`, { cause: fault })
    })
  }

  /** What no read may show, and was shown. */
  get violations(): readonly string[] {
    return [...this.#histories.values()].flatMap(({ violations }) => violations)
  }

  /** A notification has come. */
  accept(body: string): void {
    const [, id = '', value = ''] = /"id" ?: ?"(Tank[\d-]+)".*"value" ?: ?"?(\d+)/s.exec(body) ?? []
    this.#histories.get(id)?.notified.push(Number(value))
  }

  /** Ends the load, while all nodes run, and says whether every promise was kept. */
  async check(t: Test): Promise<void> {
    await this.#end()
    t.same(this.violations.slice(0, 20), [], 'reads show what was acknowledged, and nothing older')
    const histories = [...this.#histories.values()]
    const replicas = await Promise.all(this.#nodes.map((node) => this.#replicaOf(node)))
    for (const [at, replica] of replicas.entries()) {
      t.ok(
        replica.join('\n') === replicas[0]?.join('\n'),
        `replica ${at} is equal: ${differing(replica, replicas[0] ?? [])}`,
      )
    }
    t.same(this.violations.slice(0, 20), [], 'the replicas have what was acknowledged')
    const allNotified = (): boolean => histories.every(({ isNotified }) => isNotified)
    await until(allNotified, 'all are notified').catch(() => {})
    const lost = histories.filter(({ isNotified }) => !isNotified).map(({ id }) => id)
    t.same(lost, [], 'every acknowledged change is notified')
    const disordered = histories.filter(({ isInOrder }) => !isInOrder)
    t.same(disordered.map(({ id, notified }) => `${id}: ${notified}`).slice(0, 5), [], 'in order')
    const sum = (count: (history: ValueHistory) => number): number =>
      histories.reduce((all, one) => all + count(one), 0)
    t.comment(
      `${histories.length} entities, ${sum(({ acknowledged }) => acknowledged.length)} writes acknowledged of ` +
        `${sum(({ sent }) => sent)}, ${this.#reads.reduce((all, one) => all + one, 0)} reads, ` +
        `${sum(({ notified }) => notified.length)} notifications`,
    )
  }

  #begun(id: string): ValueHistory {
    const history = new ValueHistory(id)
    this.#histories.set(id, history)
    return history
  }

  async #end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#working)
  }

  async #write(writer: Writer, number: number): Promise<void> {
    // What may change nothing comes by another node, unless that has failed.
    let aside = 1
    for (let at = number; !this.#isOver; await delay(pause_ms)) {
      const write = writer.history.next()
      const isAside = isAgain(write) && aside > 0
      const node = this.#nodes[(at + (isAside ? aside : 0)) % this.#nodes.length]
      if (node === undefined) throw new Error('there is no node')
      const outcome = await outcomeOf(node, writer.history.id, valueOfWrite(write))
      if (outcome === 'done') {
        writer.history.acknowledge(write)
        writer.acknowledgements += 1
        continue
      }
      aside = isAside ? 0 : 1
      if (!isAside) at += 1
      await delay(100)
      if (outcome === 'refused') writer.history.refuse(write)
      else if (outcome === 'unanswered') {
        writer.history = this.#begun(`Tank${number}-${writer.entities}-`)
        writer.entities += 1
      }
    }
  }

  async #read(number: number): Promise<void> {
    const node = this.#nodes[number]
    if (node === undefined) throw new Error('there is no node')
    while (!this.#isOver) {
      // Half of the reads are of what is written now.
      const all = Math.random() < 0.5 ? this.#writers.map(({ history }) => history) : [...this.#histories.values()]
      const history = all[Math.floor(Math.random() * all.length)]
      const take = history?.reading(`node ${number}`)
      const value = history && (await valueAt(node, history.id))
      if (value !== undefined) {
        take?.(value)
        this.#reads[number] = (this.#reads[number] ?? 0) + 1
      }
      await delay(pause_ms)
    }
  }

  /** All that a node shows, with dates; each value is looked at. */
  async #replicaOf(node: RunningBroker): Promise<readonly string[]> {
    const shown: string[] = []
    for (let isAll = false; !isAll; ) {
      const query = `type=Tank&limit=${page}&offset=${shown.length}&attrs=level,dateCreated,dateModified`
      const { takes, json } = await until(async () => {
        const takes = new Map(
          Array.from(this.#histories, ([id, history]) => [id, history.reading(`the replica`)] as const),
        )
        const { status, json } = await node.send('GET', `/v2/entities?${query}`)
        return status === 200 && Array.isArray(json) && { takes, json }
      }, 'a page of tanks is shown')
      for (const entity of json) {
        takes.get(String(member(entity, 'id')))?.(Number(member(member(entity, 'level'), 'value')))
        shown.push(JSON.stringify(entity))
      }
      isAll = json.length < page
    }
    return shown
  }
}

function differing(replica: readonly string[], first: readonly string[]): string {
  const others = new Set(first)
  return replica
    .filter((entity) => !others.has(entity))
    .slice(0, 3)
    .join('\n')
}

/** Sends a value to a node. Not known is what the response says that of: it is not carried out behind what is acknowledged later. */
async function outcomeOf(
  node: RunningBroker,
  id: string,
  value: number,
): Promise<'done' | 'refused' | 'unknown' | 'unanswered'> {
  const attributes = [{ name: 'level', type: 'Number', value: String(value) }]
  const sent = node.update('APPEND', { id, type: 'Tank', isPattern: 'false', attributes })
  const reply = await inTime(sent, patience_ms).catch((fault: unknown) => (wasNotSent(fault) ? 'refused' : undefined))
  if (reply === 'refused') return reply
  if (reply === undefined) return 'unanswered'
  if (reply.status === 200 && refusalIn(reply.text) === undefined) return 'done'
  return /may have been carried out/.test(reply.text) ? 'unknown' : 'refused'
}

/** The value that a node shows, 0 where there is no entity; nothing when it does not answer, or refuses to. */
async function valueAt(node: RunningBroker, id: string): Promise<number | undefined> {
  const reply = await inTime(node.send('GET', `/v2/entities/${id}/attrs/level`), patience_ms).catch(() => undefined)
  if (reply?.status === 404) return 0
  return reply?.status === 200 ? Number(member(reply.json, 'value')) : undefined
}

function wasNotSent(fault: unknown): boolean {
  return member(member(fault, 'cause'), 'code') === 'ECONNREFUSED'
}
