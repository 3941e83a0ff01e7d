import type { ListeningClient } from './listening-client.js'
import type { RunningBroker } from './running.js'

const rooms = 8

/** Subscribes a client that listens to entities of a type; gives the id. */
export async function subscribedTo(broker: RunningBroker, type: string): Promise<string> {
  const { headers } = await broker.send('POST', '/v2/subscriptions', {
    subject: { entities: [{ idPattern: '.*', type }] },
    notification: { http: { url: 'sse:' }, attrsFormat: 'keyValues' },
  })
  return headers.get('location')?.split('/').at(-1) ?? ''
}

/** Writes numbers to rooms in turn for as long as it is told to; those that were acknowledged, by room. */
export class Writer {
  readonly acknowledged = new Map<string, number[]>()
  #isOver = false
  /** The last number that was written. */
  n: number
  readonly #done: Promise<void>

  constructor(broker: RunningBroker, type: string, text = '', after = 0) {
    this.n = after
    this.#done = this.#write(broker, type, text)
  }

  get count(): number {
    return [...this.acknowledged.values()].reduce((sum, each) => sum + each.length, 0)
  }

  async #write(broker: RunningBroker, type: string, text: string): Promise<void> {
    while (!this.#isOver) {
      this.n += 1
      const { n } = this
      const id = `${type}${n % rooms}`
      const entity = { id, type, n: { type: 'Number', value: n }, text: { type: 'Text', value: text } }
      const reply = await broker
        .send('POST', '/v2/op/update', { actionType: 'append', entities: [entity] })
        .catch(() => undefined)
      if (reply?.status !== 204) continue
      const own = this.acknowledged.get(id)
      if (own === undefined) this.acknowledged.set(id, [n])
      else own.push(n)
    }
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#done
  }
}

/** What a client has got, without what came again, by entity; throws where the order of an entity does not hold. */
export class Received {
  readonly byRoom = new Map<string, number[]>()
  readonly #ids = new Set<string>()

  take(client: ListeningClient): void {
    for (const { data, fields } of client.notifications) {
      const name = fields.get('Rigel-Notification-Id') ?? ''
      if (this.#ids.has(name)) continue
      this.#ids.add(name)
      const { id, n } = JSON.parse(data).data[0]
      const own = this.byRoom.get(id) ?? []
      const last = own.at(-1)
      if (last !== undefined && last >= n) throw new Error(`${id}: ${n} came after ${last}`)
      own.push(n)
      this.byRoom.set(id, own)
    }
  }

  /** Those that were acknowledged and have not come. */
  missing(acknowledged: ReadonlyMap<string, readonly number[]>): readonly string[] {
    return [...acknowledged].flatMap(([room, numbers]) => {
      const own = new Set(this.byRoom.get(room))
      return numbers.filter((n) => !own.has(n)).map((n) => `${room} ${n}`)
    })
  }
}
