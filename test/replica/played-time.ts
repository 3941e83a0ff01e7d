import { syncBuiltinESMExports } from 'node:module'
import promises, { setImmediate as nextTurn } from 'node:timers/promises'
import { Schedule } from './schedule.js'

/** Whose timers they are. Those of what is over never fire; those of what is paused fire when it goes on. */
export interface TimersOwner {
  readonly isOver: boolean
  readonly pausedUntil_ms: number
  /** How its clocks differ from that of the schedule; they do not without this. */
  readonly clocks?: OwnClocks | undefined
}

/** The clocks of one machine. */
export interface OwnClocks {
  /** How far the monotonic one goes while that of the schedule goes 1. */
  readonly rate: number
  /** For so long the machine has slept, while its monotonic clock stood still. */
  slept_ms: number
  /** By so much its clock of the day is wrong. */
  jump_ms: number
}

/** So long after it goes on somebody who was paused gets to timers that were due. */
const overslept_ms = 20

/** What was begun has gone on as far as it can without a timer or a message: the coordinator's store lets one turn pass. */
export async function delivered(): Promise<void> {
  await nextTurn()
  await nextTurn()
}

const nowCell = 0
const dueCell = 1
const cells = 2

/** A clock that all threads share: in ms since some moment. */
export class PlayedClock {
  readonly #cells: Float64Array

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(cells * Float64Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Float64Array(memory)
  }

  get now_ms(): number {
    return this.#cells[nowCell] ?? 0
  }

  set now_ms(now_ms: number) {
    this.#cells[nowCell] = now_ms
  }

  /** When the next timer is due of the thread that leads the clock. */
  get due_ms(): number {
    return this.#cells[dueCell] ?? 0
  }

  set due_ms(due_ms: number) {
    this.#cells[dueCell] = due_ms
  }
}

interface PlayedTimer {
  isOver: boolean
  ref(): PlayedTimer
  unref(): PlayedTimer
}

/** Who waits in `Atomics.waitAsync`. */
interface Waiter {
  readonly memory: ArrayBufferLike
  readonly index: number
  readonly wake: (woken: 'ok' | 'timed-out') => void
}

const rightClocks: OwnClocks = { rate: 1, slept_ms: 0, jump_ms: 0 }

/** Begins so far from 0 that nothing is taken for a moment that never was. */
const begun_ms = 1_000_000
const begun_date = 1_700_000_000_000

/** The clocks and timers of a whole thread, of which one after the other fires when the thread is told to go on. */
export class PlayedTimers {
  #schedule = new Schedule()
  readonly #clock: PlayedClock
  readonly #leads: boolean
  readonly #waiters = new Set<Waiter>()
  /** What is done now is done by this one: its timers are planned. */
  owner: TimersOwner | undefined

  /** Of one thread it is the timers that say how late it is: they lead the clock. */
  constructor(clock: PlayedClock, leads: boolean) {
    this.#clock = clock
    this.#leads = leads
  }

  /** They take the place of those of this thread; what is given has the thread get its own ones again. */
  install(): () => void {
    const own = { ...timersOf(globalThis), ...{ now: Date.now, hrtime: process.hrtime.bigint, ...atomics() } }
    const [steady, sleep] = [performance.now, promises.setTimeout]
    const plan = (run: () => void, delay_ms = 0): PlayedTimer => this.#planned(run, delay_ms)
    const clear = (timer: PlayedTimer | undefined): void => {
      if (timer) timer.isOver = true
    }
    Object.assign(globalThis, {
      ...{ setTimeout: plan, clearTimeout: clear, clearInterval: clear },
      setInterval: (run: () => void, every_ms: number) => this.#repeated(run, every_ms),
    })
    Object.assign(promises, {
      setTimeout: <Value>(delay_ms: number, value: Value) =>
        new Promise<Value>((resolve) => plan(() => resolve(value), delay_ms)),
    })
    Object.assign(Atomics, { waitAsync: this.#waitAsync.bind(this), notify: this.#notify.bind(this, own.notify) })
    performance.now = () => this.#clock.now_ms
    process.hrtime.bigint = () => BigInt(Math.round(this.#steady_ms * 1e6))
    Date.now = () => begun_date + Math.round(this.#clock.now_ms) + this.#clocks.jump_ms
    syncBuiltinESMExports()
    return () => {
      const { now, hrtime, waitAsync, notify, ...timers } = own
      Object.assign(globalThis, timers)
      Object.assign(Atomics, { waitAsync, notify })
      Object.assign(promises, { setTimeout: sleep })
      performance.now = steady
      process.hrtime.bigint = hrtime
      Date.now = now
      syncBuiltinESMExports()
    }
  }

  /** No timer is left. */
  clear(): void {
    this.#schedule = new Schedule()
    this.#waiters.clear()
  }

  /** When the next timer is due; never, if there is none. */
  get due_ms(): number {
    return this.#schedule.due_ms
  }

  /** Does something as one of the owners; what follows it at once is done by that one as well. */
  as<Done>(owner: TimersOwner | undefined, work: () => Done): Done {
    this.owner = owner
    return work()
  }

  /** Plans something for an owner, or for nobody, whoever is at work now. */
  plan(delay_ms: number, owner: TimersOwner | undefined, run: () => void): void {
    this.#schedule.now_ms = this.#clock.now_ms
    this.#schedule.plan(delay_ms, () => this.#fire(owner, run))
  }

  /** Fires the next timer, if it is due by a moment; else the clock that is led is at that moment. Says whether there was one. */
  step(until_ms: number): boolean {
    const { due_ms } = this.#schedule
    if (this.#leads) this.#clock.now_ms = Math.max(this.#clock.now_ms, Math.min(due_ms, until_ms))
    return due_ms <= until_ms && this.#schedule.step(until_ms)
  }

  #fire(owner: TimersOwner | undefined, run: () => void): void {
    if (owner?.isOver) return
    const left_ms = (owner?.pausedUntil_ms ?? 0) - this.#clock.now_ms
    // What comes by messages is taken first.
    if (left_ms > 0) this.plan(left_ms + overslept_ms, owner, run)
    else this.as(owner, run)
  }

  get #clocks(): OwnClocks {
    return this.owner?.clocks ?? rightClocks
  }

  get #steady_ms(): number {
    const { rate, slept_ms } = this.#clocks
    return begun_ms + (this.#clock.now_ms - slept_ms) * rate
  }

  #planned(run: () => void, delay_ms: number): PlayedTimer {
    const timer = newTimer()
    this.plan(delay_ms, this.owner, () => {
      if (!timer.isOver) run()
    })
    return timer
  }

  #repeated(run: () => void, every_ms: number): PlayedTimer {
    const [timer, { owner }] = [newTimer(), this]
    const again = (): void => {
      if (timer.isOver) return
      run()
      this.plan(every_ms, owner, again)
    }
    this.plan(every_ms, owner, again)
    return timer
  }

  #waitAsync(cells: BigInt64Array | Int32Array, index: number, held: bigint | number, limit_ms = Infinity) {
    if (cells[index] !== held) return { async: false, value: 'not-equal' }
    const { owner } = this
    const value = new Promise<'ok' | 'timed-out'>((resolve) => {
      const wake = (woken: 'ok' | 'timed-out'): void => {
        if (this.#waiters.delete(waiter)) this.plan(0, owner, () => resolve(woken))
      }
      const waiter: Waiter = { memory: cells.buffer, index, wake }
      this.#waiters.add(waiter)
      if (limit_ms < Infinity) this.plan(limit_ms, owner, () => wake('timed-out'))
    })
    return { async: true, value }
  }

  #notify(notify: typeof Atomics.notify, cells: Int32Array, index: number, most?: number): number {
    const waiting = [...this.#waiters].filter((each) => each.memory === cells.buffer && each.index === index)
    for (const { wake } of waiting) wake('ok')
    return waiting.length + notify(cells, index, most)
  }
}

function newTimer(): PlayedTimer {
  const timer: PlayedTimer = { isOver: false, ref: () => timer, unref: () => timer }
  return timer
}

function timersOf({ setTimeout, clearTimeout, setInterval, clearInterval }: typeof globalThis) {
  return { setTimeout, clearTimeout, setInterval, clearInterval }
}

function atomics() {
  const { waitAsync, notify } = Atomics
  return { waitAsync, notify }
}
