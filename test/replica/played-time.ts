import { syncBuiltinESMExports } from 'node:module'
import promises from 'node:timers/promises'
import { Schedule } from './schedule.js'

/** Clocks that go on when they are told to, in all threads that share their memory: in ms since some moment. */
export class PlayedClocks {
  readonly #now_ms: Float64Array
  /** The clock of the day is set to another date now and then. */
  jump_ms = 0

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#now_ms = new Float64Array(memory)
  }

  get now_ms(): number {
    return this.#now_ms[0] ?? 0
  }

  set now_ms(now_ms: number) {
    this.#now_ms[0] = now_ms
  }

  /** They take the place of those of this thread; what is given has the thread get its own ones again. */
  begin(): () => void {
    const [hrtime, date] = [process.hrtime.bigint, Date.now]
    process.hrtime.bigint = () => BigInt(Math.round((1_000_000 + this.now_ms) * 1e6))
    Date.now = () => 1_700_000_000_000 + Math.round(this.now_ms) + this.jump_ms
    return () => {
      process.hrtime.bigint = hrtime
      Date.now = date
    }
  }
}

interface PlayedTimer {
  isOver: boolean
  ref(): PlayedTimer
  unref(): PlayedTimer
}

/** The timers of a whole thread, of which one after the other fires when the thread is told to go on. */
export class PlayedTimers {
  #schedule = new Schedule()
  readonly #clocks: PlayedClocks

  /** Takes the place of the timers of this thread for as long as it lives. */
  constructor(clocks: PlayedClocks) {
    this.#clocks = clocks
    const plan = (run: () => void, delay_ms = 0): PlayedTimer => this.#planned(run, delay_ms)
    const clear = (timer: PlayedTimer | undefined): void => {
      if (timer) timer.isOver = true
    }
    Object.assign(globalThis, {
      setTimeout: plan,
      clearTimeout: clear,
      setInterval: (run: () => void, every_ms: number) => this.#repeated(run, every_ms),
      clearInterval: clear,
    })
    performance.now = () => this.#schedule.now_ms
    Object.assign(promises, { setTimeout: (delay_ms: number) => new Promise<void>((run) => plan(run, delay_ms)) })
    syncBuiltinESMExports()
  }

  /** No timer is left. */
  clear(): void {
    this.#schedule = new Schedule()
    this.#clocks.now_ms = 0
  }

  /** Fires the next timer, if it is due before a moment; else it is that moment. Says whether one has fired. */
  step(until_ms: number): boolean {
    const hasFired = this.#schedule.step(until_ms)
    this.#clocks.now_ms = this.#schedule.now_ms
    return hasFired
  }

  #planned(run: () => void, delay_ms: number): PlayedTimer {
    const timer: PlayedTimer = { isOver: false, ref: () => timer, unref: () => timer }
    this.#schedule.plan(delay_ms, () => {
      if (!timer.isOver) run()
    })
    return timer
  }

  #repeated(run: () => void, every_ms: number): PlayedTimer {
    const timer: PlayedTimer = { isOver: false, ref: () => timer, unref: () => timer }
    const again = (): void => {
      if (timer.isOver) return
      run()
      this.#schedule.plan(every_ms, again)
    }
    this.#schedule.plan(every_ms, again)
    return timer
  }
}
