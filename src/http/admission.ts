import type { WaitMeter } from '../observe/measure/waits.js'
import type { QueuePosition, SharedSemaphore } from '../threads/shared-memory/semaphore.js'
import type { Nanoseconds } from '../time.js'

/** A request at the request semaphore: it waits or has a permit until it leaves. */
export interface Permit {
  /** Gives the permit back, or gives up waiting. */
  leave(): void
}

/** Receives the state of the semaphore, its waits and its refusals. */
export interface AdmissionReport {
  /** Its state, after each change; free is negative where a front end has more than its share. */
  permits(free: number, taken: number, queued: number): void
  /** Whether waits are wanted although their measurement is off. */
  readonly tracing: boolean
  /** A request got its permit after waiting. */
  waited(wait: Nanoseconds): void
  refused(): void
}

/** The part of the permits that one of several front ends counts as its own; all of them together are all permits. */
export function permitShare(permits: number, frontEnds: number, index: number): number {
  return Math.floor(permits / frontEnds) + (index < permits % frontEnds ? 1 : 0)
}

/**
 * The request semaphore: lets at most as many requests work at a time as there are permits, first come, first served, over all front ends
 * [management 5.2]. A request that would wait too long is refused, see `Overload`.
 */
export class Admission {
  readonly #semaphore: SharedSemaphore
  readonly #share: number
  readonly #meter: WaitMeter
  readonly #report: AdmissionReport
  readonly #overload: Overload
  /** In the order in which they came. One that gives up stays until its permit comes, and passes it on. */
  readonly #queue = new Set<Waiting>()
  #taken = 0
  #waiting = 0
  #serving = false
  #watching = false
  #timing = false

  /** `share` is what this front end counts of the permits, see `permitShare`. */
  constructor(
    semaphore: SharedSemaphore,
    share: number,
    meter: WaitMeter,
    report: AdmissionReport,
    overload: Overload = new Overload(0n),
  ) {
    this.#overload = overload
    this.#semaphore = semaphore
    this.#share = share
    this.#meter = meter
    this.#report = report
    this.#tell()
  }

  /** Whether a request waits for a permit: only then can another one be refused. */
  get isCrowded(): boolean {
    return this.#queue.size > 0
  }

  /** Whether a request is refused before it is read; it is counted as refused if so. */
  turnsAway(): boolean {
    const { isOverloaded } = this
    if (isOverloaded) this.countRefusal()
    return isOverloaded
  }

  /** A request has been refused because of overload. */
  countRefusal(): void {
    this.#report.refused()
  }

  /** Whether a request that comes now is refused. */
  get isOverloaded(): boolean {
    if (this.#queue.size === 0) return false
    // Also one that has given up waiting: it still says for how long no permit has come.
    const [first] = this.#queue
    if (first === undefined) return false
    const now = process.hrtime.bigint()
    return this.#overload.refuses(now - first.since, now)
  }

  /**
   * Starts the work with a permit: now when one is free, else when it is its turn. Work with `refuse` may be refused
   * instead, now or while it waits; other work never is.
   */
  ask(work: (permit: Permit) => void, refuse?: () => void): Permit {
    // Permits of other front ends may have come back, for those that wait.
    this.#serve()
    if (refuse !== undefined && this.turnsAway()) {
      refuse()
      return noPermit
    }
    const waiting = new Waiting(this, work, refuse, this.#semaphore.enqueue())
    // Behind those that wait, also if one of them has its permit and is about to begin.
    if (this.#queue.size === 0 && this.#semaphore.hasPermit(waiting.position)) {
      if (this.#meter.on) this.#meter.free()
      this.#give(waiting)
    } else {
      waiting.since = process.hrtime.bigint()
      this.#queue.add(waiting)
      this.#waiting += 1
      this.#tell()
      this.#serve()
      this.#limitWaits()
    }
    return waiting
  }

  /** The end of waiting or working; a second time changes nothing. */
  leave(waiting: Waiting): void {
    if (waiting.state === 'left') return
    if (waiting.state === 'admitted') {
      this.#taken -= 1
      this.#semaphore.release()
    } else this.#waiting -= 1
    waiting.state = 'left'
    this.#tell()
    this.#serve()
  }

  /** Work that ends before it returns calls this again: that only frees the permit, the outer loop passes it on. */
  #serve(): void {
    if (this.#serving || this.#queue.size === 0) return
    this.#serving = true
    for (const next of this.#queue) {
      if (!this.#semaphore.hasPermit(next.position)) break
      this.#queue.delete(next)
      if (next.state === 'waiting') this.#refuseIfLate(next)
      if (next.state === 'left') this.#semaphore.release()
      else {
        this.#waiting -= 1
        this.#measure(next)
        this.#give(next)
      }
    }
    this.#serving = false
    this.#watch()
  }

  /** Permits that other front ends give back are noticed through the shared memory. */
  #watch(): void {
    const [first] = this.#queue
    if (first === undefined || this.#watching) return
    this.#watching = true
    this.#semaphore.mayHavePermit(first.position).then(() => {
      this.#watching = false
      this.#serve()
    })
  }

  /** While no permit comes back the queue is not served: a timer finds the requests that have waited too long. */
  #limitWaits(): void {
    if (this.#timing || this.#overload.most === 0n) return
    this.#timing = true
    const timer = setTimeout(
      () => {
        this.#timing = false
        for (const next of this.#queue) if (next.state === 'waiting') this.#refuseIfLate(next)
        if (this.#waiting > 0) this.#limitWaits()
      },
      Math.ceil(Number(this.#overload.most) / 2e6),
    )
    timer.unref()
  }

  /** It stays in the queue until its permit comes, which it passes on. */
  #refuseIfLate(next: Waiting): void {
    if (next.refuse === undefined || !this.#overload.isTooLong(process.hrtime.bigint() - next.since)) return
    next.state = 'left'
    this.#waiting -= 1
    this.#tell()
    this.#report.refused()
    next.refuse()
  }

  #give(waiting: Waiting): void {
    this.#taken += 1
    waiting.state = 'admitted'
    this.#tell()
    waiting.work(waiting)
  }

  #measure({ since }: Waiting): void {
    const wait = process.hrtime.bigint() - since
    if (this.#meter.on) this.#meter.waited(wait)
    if (this.#report.tracing) this.#report.waited(wait)
  }

  #tell(): void {
    this.#report.permits(this.#share - this.#taken, this.#taken, this.#waiting)
  }
}

/** The permit of a refused request, which has nothing to give back. */
const noPermit: Permit = { leave: () => {} }

class Waiting implements Permit {
  readonly #admission: Admission
  readonly work: (permit: Permit) => void
  readonly refuse: (() => void) | undefined
  readonly position: QueuePosition
  since: Nanoseconds = 0n
  state: 'waiting' | 'admitted' | 'left' = 'waiting'

  constructor(
    admission: Admission,
    work: (permit: Permit) => void,
    refuse: (() => void) | undefined,
    position: QueuePosition,
  ) {
    this.#admission = admission
    this.work = work
    this.refuse = refuse
    this.position = position
  }

  leave(): void {
    this.#admission.leave(this)
  }
}

/** How long waits may exceed the target before requests are refused: a burst is over by then. */
const burst: Nanoseconds = 100_000_000n

/** Overload is over when nothing has been refused for this long. */
const calm: Nanoseconds = 1_000_000_000n

/**
 * Decides who is refused a permit, by how long requests wait for one: as CoDel decides which packets to drop. A burst
 * waits. Where waits stay long more arrives than can be done: from then on nobody is let in behind a request that has
 * waited longer than what is aimed at, so that who is let in waits that long at most.
 */
export class Overload {
  readonly #most: Nanoseconds
  readonly #aim: Nanoseconds
  /** Since when nobody has waited for less than what is aimed at. */
  #longSince: Nanoseconds | undefined
  #refusing = false
  #lastRefusal: Nanoseconds = 0n

  /** `most` is the longest wait of all, 0 for none; a hundredth of it is aimed at while there is overload. */
  constructor(most: Nanoseconds) {
    this.#most = most
    this.#aim = most / 100n
  }

  /** The longest wait of all; 0 for none. */
  get most(): Nanoseconds {
    return this.#most
  }

  /** Whether a request that comes now is refused; `waited` is how long the first in the queue has waited. */
  refuses(waited: Nanoseconds, now: Nanoseconds): boolean {
    if (this.#most === 0n) return false
    if (waited < this.#aim) {
      this.#longSince = undefined
      if (this.#refusing && now - this.#lastRefusal > calm) this.#refusing = false
      return false
    }
    this.#longSince ??= now
    if (waited >= this.#most || now - this.#longSince >= burst) this.#refusing = true
    if (this.#refusing) this.#lastRefusal = now
    return this.#refusing
  }

  /** Whether a request in the queue has waited so long that it is refused yet. */
  isTooLong(waited: Nanoseconds): boolean {
    return this.#most > 0n && waited >= this.#most
  }
}
