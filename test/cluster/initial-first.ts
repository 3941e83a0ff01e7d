import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { member } from '../../bench/ngsi.js'
import type { FarEnd, Received } from '../far-end.js'
import type { RunningBroker } from '../running.js'
import { tanks, type Written } from './written-tanks.js'

/** What one notification shows: the levels of tanks. */
type Levels = ReadonlyMap<string, number>

/** Subscriptions of NGSIv1 to all tanks, each with a path of its own at the receiver, and what that has accepted of each. */
export class InitialFirst {
  readonly #accepted = new Map<string, Levels[]>()
  /** By path the id of each that was acknowledged and not removed since. */
  readonly #made = new Map<string, string>()
  #count = 0

  /** Subscribes at a node; says whether that was acknowledged. */
  async subscribe(node: RunningBroker, end: FarEnd): Promise<boolean> {
    this.#count += 1
    const path = `/initial/${this.#count}`
    const reply = await node
      .send('POST', '/v1/subscribeContext', {
        entities: [{ type: 'Tank', isPattern: 'true', id: 'Tank.*' }],
        attributes: ['level'],
        reference: end.url(path),
        duration: 'P1M',
        notifyConditions: [{ type: 'ONCHANGE', condValues: ['level'] }],
      })
      .catch(() => undefined)
    const [, id] = /"subscriptionId" ?: ?"([0-9a-f]{24})"/.exec(reply?.text ?? '') ?? []
    if (id !== undefined) this.#made.set(path, id)
    return id !== undefined
  }

  /** Takes a notification of one of the subscriptions, which is accepted; says whether it is of one. */
  accept({ url, body }: Received): boolean {
    if (!url.startsWith('/initial/')) return false
    this.#accepted.set(url, [...this.#of(url), levelsIn(body)])
    return true
  }

  /** Whether it is an initial notification. */
  isInitial({ url, body }: Received): boolean {
    return url.startsWith('/initial/') && isInitial(levelsIn(body))
  }

  /** Whether all subscriptions have their initial notification. */
  get isComplete(): boolean {
    return [...this.#made.keys()].every((path) => this.#of(path).some(isInitial))
  }

  /** Removes those at a node that have their initial notification, and something after it. */
  async removeComplete(node: RunningBroker): Promise<void> {
    for (const [path, id] of this.#made) {
      const accepted = this.#of(path)
      const at = accepted.findIndex(isInitial)
      if (at === -1 || at === accepted.length - 1) continue
      const reply = await node.send('DELETE', `/v2/subscriptions/${id}`).catch(() => undefined)
      if (reply?.status === 204 || reply?.status === 404) this.#made.delete(path)
    }
  }

  /** Subscribes at one node after the other while tanks are updated at any of them, until it is over. */
  async keepSubscribing(
    nodes: readonly RunningBroker[],
    end: FarEnd,
    written: Written,
    isOver: () => boolean,
  ): Promise<void> {
    const writing = tanks.map(async (id, number) => {
      for (let times = number; !isOver(); times += 1) {
        const node = nodes[times % nodes.length]
        if (node !== undefined) await written.set(id, node)
        await delay(20)
      }
    })
    for (let made = 0; !isOver(); made += 1) {
      const node = nodes[made % nodes.length]
      if (node === undefined) continue
      await this.subscribe(node, end)
      await delay(500)
      await this.removeComplete(node)
    }
    await Promise.all(writing)
  }

  /** What was told before an initial notification is not newer than that, and what came for the first time after it is. */
  check(t: Test, written: Written): void {
    const wrong: string[] = []
    let [later, earlier] = [0, 0]
    for (const [path, accepted] of this.#accepted) {
      const at = accepted.findIndex(isInitial)
      const initial = accepted[at]
      if (initial === undefined) continue
      const seen = new Set<string>()
      for (const [index, levels] of accepted.entries()) {
        for (const [tank, level] of levels) {
          const state = initial.get(tank)
          const isOld = state !== undefined && level <= state
          const isNew = !seen.has(`${tank} ${level}`)
          seen.add(`${tank} ${level}`)
          if (isInitial(levels) || !isNew || !written.isAcknowledged(tank, level)) continue
          if (index < at) earlier += 1
          else later += 1
          if (isOld !== index < at) wrong.push(`${path}: ${tank} ${level}, ${state} in the initial notification`)
        }
      }
    }
    t.same(wrong, [], 'each initial notification parts early from late')
    t.comment(`${this.#accepted.size} initial notifications, ${earlier} others before them, ${later} after`)
  }

  #of(path: string): readonly Levels[] {
    return this.#accepted.get(path) ?? []
  }
}

/** A change is about one tank. */
function isInitial(levels: Levels): boolean {
  return levels.size > 1
}

function levelsIn(body: string): Levels {
  const levels = new Map<string, number>()
  const responses = member(JSON.parse(body), 'contextResponses')
  if (!Array.isArray(responses)) throw new Error(`there are no contextResponses in ${body}`)
  for (const response of responses) {
    const element = member(response, 'contextElement')
    const attributes = member(element, 'attributes')
    const [attribute] = Array.isArray(attributes) ? attributes : []
    levels.set(String(member(element, 'id')), Number(member(attribute, 'value')))
  }
  return levels
}
