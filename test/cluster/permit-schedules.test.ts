import { mock } from 'node:test'
import { type Test, test } from 'tap'
import { PermitLoans, type Waits } from '../../src/threads/shared-memory/permit-loans.js'
import { type QueuePosition, SharedSemaphore } from '../../src/threads/shared-memory/semaphore.js'
import { Random } from '../replica/schedule.js'
import { runs } from '../runs.js'

const schedules = Number(process.env['RIGEL_PERMIT_SCHEDULES'] ?? runs(250))
const firstSeed = Number(process.env['RIGEL_SEED'] ?? 1)

/** As those of the loans, which look when so many steps have passed. */
const silent_ms = 1000
const step_ms = 50
const stepsPerLook = 4
/** How long a request waits for a node at most. */
const patience_ms = 3000
/** Steps in which all that was asked has ended once all nodes answer, however few permits there are. */
const endsWithin = 10_000

/** Another node, which answers nothing while it is silent. */
interface OtherNode {
  readonly waits: Waits
  isSilent: boolean
  answered_ms: number
}

interface Request {
  readonly position: QueuePosition
  readonly node: OtherNode
  /** Since when it waits for the node; it has no permit, or does nothing with it, before. */
  since_ms: number | undefined
}

/** What loans do to the semaphore of a thread. */
type LentFrom = ConstructorParameters<typeof PermitLoans>[0]

/** Requests that take permits, and wait with them for nodes that chance silences. */
class PermitSchedule {
  readonly wrong: string[] = []
  readonly counts = { answered: 0, refused: 0, givenUp: 0, lent: 0 }
  readonly #random: Random
  readonly #clock: { now_ms: number }
  readonly #permits: number
  readonly #most: number
  readonly #semaphore: SharedSemaphore
  readonly #loans: PermitLoans
  readonly #nodes: readonly OtherNode[]
  #requests: Request[] = []
  #steps = 0

  constructor(seed: number, clock: { now_ms: number }, faulty: (semaphore: SharedSemaphore) => LentFrom) {
    const random = new Random(seed)
    this.#random = random
    this.#clock = clock
    this.#permits = 1 + random.below(40)
    this.#most = 1 + random.below(this.#permits)
    this.#semaphore = new SharedSemaphore(SharedSemaphore.memory(this.#permits))
    this.#loans = new PermitLoans(faulty(this.#semaphore), this.#most, () => {})
    const newNode = () => ({ waits: this.#loans.newWaits(), isSilent: false, answered_ms: clock.now_ms })
    this.#nodes = Array.from({ length: 3 }, newNode)
  }

  play(steps: number): this {
    for (let step = 1; step <= steps; step += 1) {
      if (this.#random.chance(0.05)) {
        const node = this.#random.of(this.#nodes)
        node.isSilent = !node.isSilent
      }
      if (this.#semaphore.queued <= this.#permits) this.#ask(this.#random.below(this.#random.of([2, 2, 60])))
      this.#step()
    }
    for (const node of this.#nodes) node.isSilent = false
    for (let step = 1; step < endsWithin && this.#requests.length > 0; step += 1) this.#step()
    for (let step = 1; step <= 2 * stepsPerLook; step += 1) this.#step()
    if (this.#requests.length > 0) this.wrong.push(`${this.#requests.length} requests wait for ever`)
    if (this.#semaphore.free !== this.#permits) this.wrong.push(`${this.#semaphore.free} of ${this.#permits} are free`)
    this.#loans.close()
    return this
  }

  /** How many permits there are beside those that there were: each request has one, or waits for one. */
  get #lent(): number {
    const { free, queued } = this.#semaphore
    return free - queued - this.#permits + this.#requests.length
  }

  #ask(count: number): void {
    for (let asked = 0; asked < count; asked += 1) {
      const node = this.#random.of(this.#nodes)
      this.#requests.push({ position: this.#semaphore.enqueue(), node, since_ms: undefined })
    }
  }

  #step(): void {
    this.#steps += 1
    this.#clock.now_ms += step_ms
    mock.timers.tick(step_ms)
    const lent = this.#lent
    this.counts.lent += lent
    if (lent < 0 || lent > this.#most) this.wrong.push(`${lent} permits are lent of ${this.#most}`)
    if (this.#steps % stepsPerLook === 0) this.#checkLook(lent)
    this.#requests = this.#requests.filter((request) => this.#goesOn(request))
  }

  /** So many are lent as wait for nodes that have answered nothing, if others want their permits. */
  #checkLook(lent: number): void {
    const since_ms = this.#clock.now_ms - silent_ms
    const silent = this.#requests.filter(
      (request) => request.since_ms !== undefined && request.node.answered_ms <= since_ms,
    )
    if (lent > silent.length) this.wrong.push(`${lent} permits are lent, and ${silent.length} requests wait`)
    const areLong = silent.filter(({ node }) =>
      silent.some((other) => other.node === node && (other.since_ms ?? 0) <= since_ms),
    )
    if (this.#semaphore.queued > 0 && lent < Math.min(areLong.length, this.#most))
      this.wrong.push(`${lent} permits are lent, and ${areLong.length} requests wait for long`)
  }

  /** Whether a request has not ended. */
  #goesOn(request: Request): boolean {
    const { node } = request
    const { now_ms } = this.#clock
    if (request.since_ms === undefined) {
      if (!this.#semaphore.hasPermit(request.position)) return true
      if (node.waits.begin()) request.since_ms = now_ms
      else this.#end('refused')
      return request.since_ms !== undefined
    }
    const isAnswered = !node.isSilent && this.#random.chance(0.5)
    if (!isAnswered && now_ms - request.since_ms < patience_ms) return true
    if (isAnswered) node.answered_ms = now_ms
    node.waits.end(isAnswered)
    this.#end(isAnswered ? 'answered' : 'givenUp')
    return false
  }

  #end(as: 'answered' | 'refused' | 'givenUp'): void {
    this.counts[as] += 1
    this.#semaphore.release()
  }
}

/** The loans with a mend taken back, by what becomes of the permits that they lend and take. */
const faulty: Readonly<Record<string, (semaphore: SharedSemaphore) => LentFrom>> = {
  'what is lent is not taken back': (semaphore) => ({
    ...{ enqueue: () => 0, release: () => semaphore.release() },
    get queued() {
      return semaphore.queued
    },
  }),
  'nobody is seen to want permits': (semaphore) => ({
    ...{ enqueue: () => semaphore.enqueue(), release: () => semaphore.release(), queued: 0 },
  }),
  'a permit is lent twice': (semaphore) => ({
    enqueue: () => semaphore.enqueue(),
    release: () => {
      semaphore.release()
      semaphore.release()
    },
    get queued() {
      return semaphore.queued
    },
  }),
}

function playedClock(t: Test): { now_ms: number } {
  mock.timers.enable({ apis: ['setInterval'] })
  const clock = { now_ms: 0 }
  mock.method(performance, 'now', () => clock.now_ms)
  t.teardown(() => {
    mock.timers.reset()
    mock.restoreAll()
  })
  return clock
}

test(`in ${schedules} schedules no more permits are lent than requests wait for silent nodes, and each is taken back`, async (t) => {
  const clock = playedClock(t)
  const sums = { answered: 0, refused: 0, givenUp: 0, lent: 0 }
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const { wrong, counts } = new PermitSchedule(seed, clock, (semaphore) => semaphore).play(200)
    if (wrong.length > 0) throw new Error(`RIGEL_SEED=${seed}: ${wrong[0]}`)
    for (const name of ['answered', 'refused', 'givenUp', 'lent'] as const) sums[name] += counts[name]
  }
  t.comment(JSON.stringify(sums))
  for (const [name, times] of Object.entries(sums)) t.ok(times > 0, name)
})

for (const [fault, of] of Object.entries(faulty)) {
  test(`the schedules find it when ${fault}`, async (t) => {
    const clock = playedClock(t)
    let seed = 1
    while (seed < 300 && new PermitSchedule(seed, clock, of).play(200).wrong.length === 0) seed += 1
    t.ok(seed < 300, `found by seed ${seed}`)
  })
}
