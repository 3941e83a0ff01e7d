/** What an update costs: µs of a processor, but for the flush of a turn, during which its partition waits for the disk. */
export interface UpdateCosts {
  readonly frontEnd_us: number
  readonly partition_us: number
  /** Of each turn, however many updates it has. */
  readonly flush_us: number
  /** Of the program that sends updates, on the same machine; 0 for one on another. */
  readonly load_us: number
}

export interface PlayedMachine {
  readonly processors: number
  readonly httpThreads: number
  readonly partitions: number
  /** Each sends its next update when the last one is answered. */
  readonly connections: number
}

/** What a machine does, and the share of the time for which its processors have work. */
export interface Played {
  readonly rate_per_s: number
  readonly processors_ratio: number
}

/** Updates that are played: few enough for hundreds of machines, and enough that chance makes a difference of some 1 %. */
const updates = 20_000

/** The first ones meet an idle machine. */
const warmUp = updates / 10

/**
 * Plays updates through the threads of a broker, each of which needs a processor for what it does, the first that asks first. Partitions
 * take all that waits for them in one turn, and flush it; an update is of any partition by chance, the same at each call.
 */
export function playedUpdates(costs: UpdateCosts, machine: PlayedMachine): Played {
  return new Play(costs, machine).run()
}

interface Work {
  readonly cost_us: number
  readonly done: () => void
}

/** A thread that does one thing after the other. */
class PlayedThread {
  readonly #play: Play
  readonly #waiting: Work[] = []
  #works = false

  constructor(play: Play) {
    this.#play = play
  }

  give(work: Work): void {
    this.#waiting.push(work)
    if (!this.#works) this.#next()
  }

  #next(): void {
    const work = this.#waiting.shift()
    this.#works = work !== undefined
    if (work === undefined) return
    this.#play.process(work.cost_us, () => {
      work.done()
      this.#next()
    })
  }
}

/** The thread of a partition, which takes all that waits for it in one turn. */
class PlayedOwner {
  readonly #play: Play
  readonly #costs: UpdateCosts
  #waiting: (() => void)[] = []
  #works = false

  constructor(play: Play, costs: UpdateCosts) {
    this.#play = play
    this.#costs = costs
  }

  give(answer: () => void): void {
    this.#waiting.push(answer)
    if (!this.#works) this.#turn()
  }

  #turn(): void {
    const turn = this.#waiting
    this.#waiting = []
    this.#works = turn.length > 0
    if (!this.#works) return
    this.#play.process(turn.length * this.#costs.partition_us, () => {
      this.#play.after(this.#costs.flush_us, () => {
        for (const answer of turn) answer()
        this.#turn()
      })
    })
  }
}

class Play {
  now_us = 0
  readonly #costs: UpdateCosts
  readonly #machine: PlayedMachine
  readonly #frontEnds: readonly PlayedThread[]
  readonly #owners: readonly PlayedOwner[]
  readonly #load: PlayedThread
  /** What is under way, of each processor and each flush; never many. */
  readonly #planned: { readonly at_us: number; readonly done: () => void }[] = []
  /** What waits for a processor. */
  readonly #ready: Work[] = []
  #free: number
  #processed_us = 0
  #answered = 0
  #began_us = 0
  #chance = 1

  constructor(costs: UpdateCosts, machine: PlayedMachine) {
    this.#costs = costs
    this.#machine = machine
    this.#free = machine.processors
    this.#frontEnds = Array.from({ length: machine.httpThreads }, () => new PlayedThread(this))
    this.#owners = Array.from({ length: machine.partitions }, () => new PlayedOwner(this, costs))
    this.#load = new PlayedThread(this)
  }

  run(): Played {
    const { connections, processors } = this.#machine
    for (let connection = 0; connection < connections; connection += 1) this.#send(connection)
    while (this.#answered < updates) this.#goOn()
    const lasted_us = this.now_us - this.#began_us
    return {
      rate_per_s: ((updates - warmUp) / lasted_us) * 1e6,
      processors_ratio: this.#processed_us / (processors * lasted_us),
    }
  }

  /** Takes so long of a processor, as soon as one is free. */
  process(cost_us: number, done: () => void): void {
    if (this.#free === 0) this.#ready.push({ cost_us, done })
    else this.#start({ cost_us, done })
  }

  after(wait_us: number, done: () => void): void {
    this.#planned.push({ at_us: this.now_us + wait_us, done })
  }

  #start({ cost_us, done }: Work): void {
    this.#free -= 1
    this.#processed_us += cost_us
    this.after(cost_us, () => {
      this.#free += 1
      const next = this.#ready.shift()
      if (next !== undefined) this.#start(next)
      done()
    })
  }

  #goOn(): void {
    let first = 0
    for (const [at, { at_us }] of this.#planned.entries()) {
      if (at_us < (this.#planned[first]?.at_us ?? 0)) first = at
    }
    const [next] = this.#planned.splice(first, 1)
    if (next === undefined) throw new Error('an update is always under way')
    this.now_us = next.at_us
    next.done()
  }

  #send(connection: number): void {
    const frontEnd = this.#frontEnds[connection % this.#frontEnds.length]
    const cost_us = this.#costs.frontEnd_us / 2
    frontEnd?.give({
      cost_us,
      done: () => this.#anyOwner?.give(() => frontEnd.give({ cost_us, done: () => this.#answer(connection) })),
    })
  }

  #answer(connection: number): void {
    this.#answered += 1
    if (this.#answered === warmUp) this.#measureFromHere()
    const send = (): void => this.#send(connection)
    if (this.#costs.load_us === 0) send()
    else this.#load.give({ cost_us: this.#costs.load_us, done: send })
  }

  #measureFromHere(): void {
    this.#began_us = this.now_us
    this.#processed_us = 0
  }

  get #anyOwner(): PlayedOwner | undefined {
    this.#chance = (Math.imul(this.#chance, 1_664_525) + 1_013_904_223) >>> 0
    return this.#owners[Math.floor((this.#chance / 2 ** 32) * this.#owners.length)]
  }
}
