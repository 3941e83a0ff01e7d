import type { Test } from 'tap'
import type { Received } from '../far-end.js'
import type { Reply, RunningBroker } from '../running.js'
import { until } from '../until.js'
import { setLevel } from './given-nodes.js'

export const tanks = Array.from({ length: 6 }, (_, number) => `Tank${number}`)

/** The values of tanks that were acknowledged, and those that a receiver has accepted, each in order. */
export class Written {
  readonly #sent = new Map<string, number>()
  readonly #acknowledged = new Map<string, number[]>(tanks.map((id) => [id, []]))
  readonly #accepted = new Map<string, number[]>(tanks.map((id) => [id, []]))

  /** Gives each tank a new value, at one node after the other until it is acknowledged: no value is sent twice. */
  async setAll(...nodes: readonly RunningBroker[]): Promise<void> {
    await Promise.all(tanks.map((id) => this.#set(id, nodes)))
  }

  accept({ body }: Pick<Received, 'body'>): void {
    const { id, value } = shownIn(body)
    this.#accepted.get(id)?.push(value)
  }

  /** Whether a notification shows the last value that its tank was given, not one that comes again. */
  isNewest({ body }: Pick<Received, 'body'>): boolean {
    const { id, value } = shownIn(body)
    return this.#sent.get(id) === value
  }

  get isNotified(): boolean {
    return tanks.every((id) => {
      const accepted = new Set(this.#accepted.get(id))
      return this.#acknowledged.get(id)?.every((value) => accepted.has(value))
    })
  }

  isAcknowledged(id: string, value: number): boolean {
    return this.#acknowledged.get(id)?.includes(value) === true
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

  /** Gives one of them a new value at a node; says whether that was acknowledged. */
  async set(id: string, node: RunningBroker): Promise<boolean> {
    const value = (this.#sent.get(id) ?? 0) + 1
    this.#sent.set(id, value)
    const isDone = await setLevel(node, id, String(value)).catch(() => false)
    if (isDone) this.#acknowledged.get(id)?.push(value)
    return isDone
  }

  async #set(id: string, nodes: readonly RunningBroker[]): Promise<void> {
    let tries = 0
    const isAcknowledged = async (): Promise<boolean> => {
      const node = nodes[tries % nodes.length]
      tries += 1
      return node !== undefined && (await this.set(id, node))
    }
    await until(isAcknowledged, `${id} is set`)
  }
}

function shownIn(body: string): { readonly id: string; readonly value: number } {
  const [, id = '', value = ''] = /"id" ?: ?"(Tank\d)".*"value" ?: ?"?(\d+)/s.exec(body) ?? []
  return { id, value: Number(value) }
}

/** Subscribes to all tanks at the last of some nodes; resolves when that is in force on each of them. */
export async function subscribedToTanks(nodes: readonly RunningBroker[], reference: string): Promise<void> {
  let made: Reply | undefined
  const isMade = async (): Promise<boolean> => {
    made = await nodes.at(-1)?.send('POST', '/v2/subscriptions', {
      subject: { entities: [{ idPattern: '.*', type: 'Tank' }], condition: { attrs: ['level'] } },
      notification: { http: { url: reference }, attrs: ['level'], attrsFormat: 'normalized' },
    })
    return made?.status === 201
  }
  await until(isMade, 'the subscription is made')
  for (const node of nodes) {
    const isShown = async () => (await node.send('GET', '/v2/subscriptions')).text.includes(reference)
    await until(isShown, 'the subscription is in force on each node')
  }
}
