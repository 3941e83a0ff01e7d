import { Random } from '../fuzz/random.js'

interface Event {
  readonly at_ms: number
  readonly number: number
  readonly run: () => void
}

/** Time that passes by what happens in it; what is due at one time happens in the order in which it was planned. */
export class SimulatedTime {
  readonly random: Random
  now_ms = 0
  #planned = 0
  /** A heap: each event is due before its two children. */
  readonly #events: Event[] = []

  constructor(seed: number) {
    this.random = new Random(seed)
  }

  after(delay_ms: number, run: () => void): void {
    this.at(this.now_ms + delay_ms, run)
  }

  at(moment_ms: number, run: () => void): void {
    this.#planned += 1
    const event = { at_ms: Math.max(this.now_ms, moment_ms), number: this.#planned, run }
    const events = this.#events
    let at = events.push(event) - 1
    for (let parent = (at - 1) >> 1; at > 0 && isBefore(event, events[parent]); parent = (at - 1) >> 1) {
      events[at] = events[parent] ?? event
      at = parent
    }
    events[at] = event
  }

  /** Lets everything happen that is due until a time. */
  run(until_ms: number): void {
    for (let next = this.#events[0]; next !== undefined && next.at_ms <= until_ms; next = this.#events[0]) {
      this.#drop()
      this.now_ms = next.at_ms
      next.run()
    }
    this.now_ms = until_ms
  }

  /** How long something takes: as a rule little, now and then longer than anybody waits. */
  delay_ms(longest_ms: number): number {
    const { random } = this
    const chance = random.below(100)
    if (chance < 90) return random.next() * 3
    return random.next() * (chance < 98 ? 60 : longest_ms)
  }

  #drop(): void {
    const events = this.#events
    const last = events.pop()
    if (last === undefined || events.length === 0) return
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      const child = isBefore(events[left + 1], events[left]) ? left + 1 : left
      const least = events[child]
      if (least === undefined || !isBefore(least, last)) break
      events[at] = least
      at = child
    }
    events[at] = last
  }
}

function isBefore(one: Event | undefined, other: Event | undefined): boolean {
  if (one === undefined) return false
  if (other === undefined) return true
  return one.at_ms < other.at_ms || (one.at_ms === other.at_ms && one.number < other.number)
}
