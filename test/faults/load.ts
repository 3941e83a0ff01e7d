import { items, member } from '../../bench/ngsi.js'
import { attributesOfEntity } from './check.js'
import { type Attempt, Client, resultsOf, type Target } from './client.js'
import type { EntityHistory, History, Result } from './history.js'

/** How many clients do what, all at the same time. */
export interface LoadSize {
  /** Entities that have one writer each. */
  readonly alone: number
  /** Entities that several clients write, and how many write each of them. */
  readonly shared: number
  readonly writersOfShared: number
  /** Elements of each update of many entities. */
  readonly batch: number
  /** Clients that read single entities. */
  readonly readers: number
}

/** Enough for every kind of client to meet every other kind, on two processors. */
export const mixedLoad: LoadSize = { alone: 8, shared: 2, writersOfShared: 3, batch: 12, readers: 4 }

/** Entities that clients read page by page; others come later, when a client cannot go on with one. */
const pagedType = 'Probe'
const laterType = 'Spare'
const pageSize = 7

/** What a client writes to, and the number that it writes next. */
interface Device {
  name: string
  type: string
  history: EntityHistory
  next: number
}

/** The clients of a mixed load, and what they did and saw. */
export class Load {
  readonly #target: Target
  readonly #history: History
  readonly #size: LoadSize
  readonly #subscriptions: readonly string[]
  #replaced = 0

  /** Every entity that the clients write is one of which the subscriptions are told. */
  constructor(target: Target, history: History, size: LoadSize, subscriptions: readonly string[]) {
    this.#target = target
    this.#history = history
    this.#size = size
    this.#subscriptions = subscriptions
  }

  /** Makes the entities, then runs all clients until the target says that it is over. */
  async start(): Promise<{ readonly ended: Promise<void> }> {
    const { alone, shared, writersOfShared, batch, readers } = this.#size
    const single = devices(alone, (at) => this.#device(`Probe-a${at}`, 'one'))
    const several = devices(shared, (at) => this.#device(`Probe-s${at}`, 'several'))
    const together = devices(batch, (at) => this.#device(`Probe-b${at}`, 'one'))
    // One by one: all at once may be more than the broker has room for.
    await this.#with(async (client) => {
      for (const device of [...single, ...several, ...together]) await this.#write(client, [device])
    })
    for (const name of this.#history.entities.keys()) this.#history.walked.add(name)
    const writers = several.flatMap((device) =>
      devices(writersOfShared, (at) => this.#writeShared(device, at, writersOfShared)),
    )
    const clients = [
      ...single.map((device) => this.#writeOn([device])),
      this.#writeOn(together),
      ...writers,
      ...devices(readers, (at) => this.#readOn(at)),
      this.#queryOn(),
      this.#walkOn(),
    ]
    return { ended: Promise.all(clients).then(() => {}) }
  }

  /** Reads every entity once: by its id, and all of them in one query. */
  async readAll(): Promise<void> {
    await this.#with(async (client) => {
      for (const name of this.#history.entities.keys()) await this.#read(client, name)
      await this.#query(client)
      await this.#walk(client)
    })
  }

  #device(name: string, writers: EntityHistory['writers'], type = pagedType): Device {
    return { name, type, history: this.#history.add(name, writers, this.#subscriptions), next: 1 }
  }

  async #with(work: (client: Client) => Promise<void>): Promise<void> {
    const client = new Client(this.#target, this.#history)
    try {
      await work(client)
    } finally {
      client.close()
    }
  }

  #repeat(work: (client: Client) => Promise<void>): Promise<void> {
    return this.#with(async (client) => {
      while (!this.#target.isOver) await work(client)
    })
  }

  #writeOn(own: readonly Device[]): Promise<void> {
    return this.#repeat((client) => this.#write(client, own))
  }

  /** Writes the next number to each device, in one request. */
  async #write(client: Client, own: readonly Device[]): Promise<void> {
    const values = own.map((device) => device.next)
    const attempt = await update(client, own, values)
    const results = resultsOf(client, attempt, own.length)
    for (const [at, device] of own.entries()) {
      const result = results[at] ?? 'unknown'
      note(device.history, values[at] ?? 0, result, attempt)
      device.next += 1
      if (!attempt.response && !attempt.restarted && device.history.writers === 'one') this.#replace(device)
    }
  }

  /** A request that was lost to a process that lives may yet be carried out: nothing later may follow it. */
  #replace(device: Device): void {
    this.#replaced += 1
    Object.assign(device, this.#device(`Probe-r${this.#replaced}`, 'one', laterType))
  }

  /** One of several writers: its values are those that leave its number as the rest. The first of all made the entity. */
  #writeShared(device: Device, at: number, writers: number): Promise<void> {
    let value = 2 + at
    return this.#repeat(async (client) => {
      const attempt = await update(client, [device], [value])
      const [result = 'unknown'] = resultsOf(client, attempt, 1)
      note(device.history, value, result, attempt)
      value += writers
    })
  }

  #readOn(reader: number): Promise<void> {
    let at = reader
    return this.#repeat(async (client) => {
      const names = [...this.#history.entities.keys()]
      at += 1
      await this.#read(client, names[at % names.length] ?? '')
    })
  }

  async #read(client: Client, name: string): Promise<void> {
    const { response, start_ms, end_ms } = await client.send({ verb: 'GET', path: `/v1/contextEntities/${name}` })
    const json = client.json(response)
    if (json === undefined) return
    const element = member(json, 'contextElement')
    const code = member(member(json, 'statusCode'), 'code')
    if (code !== '200' && code !== '404') this.#history.faults.push(`a read was answered with ${response?.text}`)
    else this.#history.entities.get(name)?.reads.push({ start_ms, end_ms, values: valuesOf(element) })
  }

  #queryOn(): Promise<void> {
    return this.#repeat((client) => this.#query(client))
  }

  /** All entities in one response. */
  async #query(client: Client): Promise<void> {
    const names = [...this.#history.entities.keys()]
    const { start_ms, end_ms, elements } = await page(client, '', 0, 1000)
    if (!elements) return
    const shown = new Map(elements.map((element) => [member(element, 'id'), element]))
    for (const name of names) {
      this.#history.entities.get(name)?.reads.push({ start_ms, end_ms, values: valuesOf(shown.get(name)) })
    }
  }

  #walkOn(): Promise<void> {
    return this.#repeat((client) => this.#walk(client))
  }

  /** All entities that were there from the beginning, page by page. */
  async #walk(client: Client): Promise<void> {
    const entities: string[] = []
    const began_ms = performance.now()
    for (;;) {
      const { start_ms, end_ms, elements } = await page(client, pagedType, entities.length, pageSize)
      if (!elements) return
      for (const element of elements) {
        const name = String(member(element, 'id'))
        entities.push(name)
        this.#history.entities.get(name)?.reads.push({ start_ms, end_ms, values: valuesOf(element) })
      }
      if (elements.length < pageSize) {
        this.#history.walks.push({ start_ms: began_ms, end_ms, entities })
        return
      }
    }
  }
}

function devices<Thing>(number: number, made: (at: number) => Thing): readonly Thing[] {
  return Array.from({ length: number }, (_, at) => made(at))
}

function note(history: EntityHistory, value: number, result: Result, { start_ms, end_ms }: Attempt): void {
  history.writes.push({ value, result, start_ms, end_ms })
}

function update(client: Client, own: readonly Device[], values: readonly number[]): Promise<Attempt> {
  const contextElements = own.map(({ name, type }, at) => ({
    type,
    isPattern: 'false',
    id: name,
    attributes: Array.from({ length: attributesOfEntity }, (_, attribute) => ({
      name: `count${attribute}`,
      type: 'number',
      value: String(values[at]),
    })),
  }))
  const body = JSON.stringify({ contextElements, updateAction: 'APPEND' })
  return client.send({ verb: 'POST', path: '/v1/updateContext', body })
}

interface PageRead extends Attempt {
  /** The entities of the page, in its order; nothing when there was no page. */
  readonly elements: readonly unknown[] | undefined
}

async function page(client: Client, type: string, offset: number, limit: number): Promise<PageRead> {
  const body = JSON.stringify({ entities: [{ type, isPattern: 'true', id: '^Probe' }] })
  const path = `/v1/queryContext?limit=${limit}&offset=${offset}`
  const attempt = await client.send({ verb: 'POST', path, body })
  const json = client.json(attempt.response)
  const elements = items(member(json, 'contextResponses')).map((response) => member(response, 'contextElement'))
  return { ...attempt, elements: json === undefined ? undefined : elements }
}

/** The values of an entity's attributes; none when there is no entity. */
export function valuesOf(element: unknown): readonly number[] {
  return items(member(element, 'attributes')).map((attribute) => Number(member(attribute, 'value')))
}
