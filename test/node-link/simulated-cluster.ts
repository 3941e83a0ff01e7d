import type { LostBatch, Posted } from '../../src/partition/mailbox/batch.js'
import type { Result } from '../../src/result.js'
import { SimulatedFront } from './simulated-front.js'
import { present, SimulatedLog, SimulatedNode, type SimulatedUpdate, type Version } from './simulated-node.js'
import { SimulatedTime } from './simulated-time.js'

/** How long a front end waits, and how long clients go on. */
const patience_ms = 1000
const clients_ms = 1500

/** An entity with its only client, which sends 1, 2, 3 …, each when it has a response to the one before. */
interface Entity {
  readonly number: number
  sent: number
  acknowledged: number
  readonly carriedOut: Set<number>
  /** The client was told that they were not carried out. */
  readonly refused: Set<number>
}

/** Three nodes with a partition, four front ends, and clients: everything that happens, and when, comes from the seed. */
export class SimulatedCluster {
  readonly #keepsStory: boolean
  readonly #version: Version
  readonly #time: SimulatedTime
  readonly #log: SimulatedLog
  readonly #nodes = new Map<string, SimulatedNode>()
  #fronts: SimulatedFront[] = []
  readonly #entities: Entity[]
  /** The last of each front end that was carried out, of those that were never deferred. */
  readonly #last = new Map<number, number>()
  #frontsMade = 0
  #owner = 'a'
  /** What has happened, for who repeats a seed. */
  readonly story: string[] = []
  /** Responses by their kind. */
  readonly responses = new Map<string, number>()

  /** `isTold` says whether its story is kept. */
  constructor(seed: number, keepsStory: boolean, version: Version = present) {
    this.#keepsStory = keepsStory
    this.#version = version
    this.#time = new SimulatedTime(seed)
    this.#log = new SimulatedLog((update) => this.#carriedOut(update))
    for (const name of ['a', 'b', 'c']) this.#start(name)
    this.#entities = Array.from({ length: 3 + this.#time.random.below(4) }, (_, number) => {
      return { number, sent: 0, acknowledged: 0, carriedOut: new Set<number>(), refused: new Set<number>() }
    })
  }

  /** Throws when a promise is broken. */
  play(): void {
    const { random } = this.#time
    this.#campaigns('a')
    for (const entity of this.#entities) this.#time.after(random.below(100), () => this.#send(entity))
    const faults = 2 + random.below(8)
    for (let fault = 0; fault < faults; fault += 1) this.#time.after(random.below(clients_ms), () => this.#fault())
    this.#time.runUntil(clients_ms + 1)
    // Each response comes in time, whatever goes on; then everything ends.
    this.#time.runUntil(clients_ms + 2 * patience_ms)
    for (const front of this.#fronts) {
      if (front.open > 0) throw new Error(`${front.open} updates are not answered`)
      this.#end(front)
    }
    this.#time.runUntil(clients_ms + 60 * patience_ms)
  }

  #start(name: string): void {
    const slot = name.charCodeAt(0) - 97
    const parts = { time: this.#time, log: this.#log, version: this.#version, name, slot, patience_ms }
    const node = new SimulatedNode(parts)
    this.#nodes.set(name, node)
    for (let frontEnd = 0; frontEnd < (name === 'a' ? 2 : 1); frontEnd += 1) {
      this.#frontsMade += 1
      const nodeOf = (other: string): SimulatedNode | undefined => this.#nodes.get(other)
      const named = (): string | undefined => this.#named()
      const frontParts = { time: this.#time, node, frontEnd, number: this.#frontsMade, patience_ms, nodeOf, named }
      const front = new SimulatedFront(frontParts)
      this.#fronts.push(front)
      this.#hears(front)
    }
    this.#looks(node)
  }

  /** An owner finds out sooner or later that it is none any more. */
  #looks(node: SimulatedNode): void {
    if (node.isDead || this.#time.now_ms > clients_ms) return
    node.look()
    this.#time.after(100 + this.#time.random.below(400), () => this.#looks(node))
  }

  #hears(front: SimulatedFront): void {
    const owner = this.#owner
    this.#time.after(this.#time.delay_ms(patience_ms), () => front.route(owner))
  }

  #campaigns(name: string): void {
    this.#owner = name
    this.#told(() => `${name} campaigns`)
    this.#nodes.get(name)?.campaign()
    for (const front of this.#fronts) this.#hears(front)
  }

  #send(entity: Entity): void {
    const { random } = this.#time
    if (this.#time.now_ms > clients_ms) return
    const front = this.#fronts[random.below(this.#fronts.length)]
    if (front === undefined) return
    entity.sent += 1
    const value = entity.sent
    this.#told(() => `${entity.number} = ${value} is sent at ${front.node.name}`)
    front.put(entity.number, value, (result) => this.#answered(entity, value, result))
  }

  #answered(entity: Entity, value: number, result: Result<Posted, LostBatch>): void {
    const { random } = this.#time
    const isRefused = result.ok ? result.value.reply.kind === 'failed' : result.error.kind === 'partitionLost'
    const kind = result.ok ? result.value.reply.kind : result.error.kind
    this.responses.set(kind, (this.responses.get(kind) ?? 0) + 1)
    const isDone = entity.carriedOut.has(value)
    this.#told(() => `${entity.number} = ${value} is answered: ${kind}`)
    if (isRefused) {
      if (isDone) throw new Error(`${entity.number} = ${value} was refused, and is carried out`)
      entity.refused.add(value)
    } else if (result.ok) {
      if (!isDone) throw new Error(`${entity.number} = ${value} was acknowledged, and is not carried out`)
      entity.acknowledged = value
    }
    this.#time.after(random.once(2) ? random.next() * 3 : random.below(200), () => this.#send(entity))
  }

  #carriedOut({ entity: number, value, sender, entry, wasDeferred }: SimulatedUpdate): void {
    this.#told(() => `${number} = ${value} is carried out`)
    const entity = this.#entities[number]
    if (entity === undefined) throw new Error('there is no such entity')
    if (entity.carriedOut.has(value)) throw new Error(`${number} = ${value} is carried out twice`)
    if (entity.refused.has(value)) throw new Error(`${number} = ${value} is carried out, and was refused`)
    if (value < entity.acknowledged) {
      throw new Error(`${number} = ${value} is carried out behind ${entity.acknowledged}, which was acknowledged`)
    }
    if (!wasDeferred && entry <= (this.#last.get(sender) ?? 0))
      throw new Error(`${number} = ${value} is carried out behind a newer one`)
    entity.carriedOut.add(value)
    if (!wasDeferred) this.#last.set(sender, entry)
  }

  #fault(): void {
    const { random } = this.#time
    const kind = random.below(12)
    if (kind < 5) this.#break()
    else if (kind < 8) this.#move()
    else if (kind < 10) this.#mislead()
    else if (kind < 11) this.#restart()
    else this.#close()
  }

  #named(): string | undefined {
    const { random } = this.#time
    return random.once(8) ? random.pick(['a', 'b', 'c']) : random.once(2) ? this.#owner : undefined
  }

  /** For a while a front end takes another node for the owner. */
  #mislead(): void {
    const { random } = this.#time
    const front = this.#fronts[random.below(this.#fronts.length)]
    if (front === undefined) return
    const wrong = random.pick(['a', 'b', 'c'])
    this.#told(() => `a front end of ${front.node.name} takes ${wrong} for the owner`)
    front.route(wrong)
    this.#hears(front)
  }

  #break(): void {
    const { random } = this.#time
    const connections = this.#fronts.flatMap((front) => front.connections)
    const connection = connections[random.below(connections.length)]
    const noticed_ms = random.once(2) ? 0 : this.#time.delay_ms(2 * patience_ms)
    this.#told(() => `a connection to ${connection?.to.name} breaks, which is noticed ${noticed_ms} ms later`)
    connection?.break({ arrives: random.once(3) ? 'nothing' : 'late', noticed_ms })
  }

  /** With the consent of the owner, or without. */
  #move(): void {
    const { random } = this.#time
    const next = random.pick(['a', 'b', 'c'])
    const isReleased = random.once(2)
    this.#told(() => `${this.#owner} ${isReleased ? 'releases' : 'loses its lease'}`)
    if (isReleased) this.#nodes.get(this.#owner)?.release()
    this.#time.after(this.#time.delay_ms(patience_ms), () => this.#campaigns(next))
  }

  #restart(): void {
    const name = this.#time.random.pick(['a', 'b', 'c'])
    const killed = this.#nodes.get(name)
    if (killed === undefined) return
    this.#told(() => `${name} is killed`)
    const its = this.#fronts.filter(({ node }) => node === killed)
    killed.kill()
    for (const front of this.#fronts) {
      for (const connection of front.connections) {
        if (connection.to !== killed && !its.includes(front)) continue
        const noticed_ms = connection.to === killed ? this.#time.delay_ms(patience_ms) : 0
        connection.break({ arrives: this.#time.random.once(2) ? 'nothing' : 'late', noticed_ms })
      }
    }
    this.#fronts = this.#fronts.filter((front) => !its.includes(front))
    this.#time.after(this.#time.delay_ms(patience_ms), () => {
      this.#start(name)
      if (this.#owner === name) this.#time.after(this.#time.delay_ms(patience_ms), () => this.#campaigns(name))
    })
  }

  /** A front end ends in order: it takes nothing more, and closes when everything is answered, which does not take long. */
  #close(): void {
    if (this.#fronts.length < 3) return
    const [front] = this.#fronts.splice(this.#time.random.below(this.#fronts.length), 1)
    if (front === undefined) return
    this.#told(() => `a front end of ${front.node.name} ends`)
    this.#time.after(1.5 * patience_ms, () => {
      if (front.node.isDead) return
      if (front.open > 0) throw new Error('a front end that ends has updates that are not answered')
      this.#end(front)
    })
  }

  #end(front: SimulatedFront): void {
    front.close()
    if (!front.isClosed) throw new Error('a front end does not end')
  }

  #told(what: () => string): void {
    if (this.#keepsStory) this.story.push(`${this.#time.now_ms.toFixed(1)} ${what()}`)
  }
}
