import { Random } from '../fuzz/random.js'
import { Schedule } from '../replica/schedule.js'

/** Time that passes by what happens in it, with the chance that decides how long something takes. */
export class SimulatedTime extends Schedule {
  readonly random: Random

  constructor(seed: number) {
    super()
    this.random = new Random(seed)
  }

  after(delay_ms: number, run: () => void): void {
    this.plan(delay_ms, run)
  }

  at(moment_ms: number, run: () => void): void {
    this.plan(Math.max(0, moment_ms - this.now_ms), run)
  }

  /** How long something takes: as a rule little, now and then longer than anybody waits. */
  delay_ms(longest_ms: number): number {
    const { random } = this
    const chance = random.below(100)
    if (chance < 90) return random.next() * 3
    return random.next() * (chance < 98 ? 60 : longest_ms)
  }
}
