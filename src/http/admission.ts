import type { WaitMeter } from '../measure/waits.js'
import type { SharedSemaphore, Ticket } from '../shared-memory/semaphore.js'
import type { Nanoseconds } from '../time.js'
import { Overload } from './overload.js'

/** A request at the request semaphore: it waits or has a permit until it leaves. */
export interface Permit {
  /** Gives the permit back, or gives up waiting. */
  leave(): void
}

/** What is told about the semaphore besides the waits themselves. */
export interface AdmissionReport {
  /** Its state, after each change; free is negative where a front end has more than its share. */
  permits(free: number, taken: number, queued: number): void
  /** Whether waits are wanted although their measurement is off. */
  readonly tracing: boolean
  /** A request got its permit after waiting. */
  waited(wait: Nanoseconds): void
  /** A request was refused because of overload. */
  refused(): void
}

/** The part of the permits that one of several front ends counts as its own; all of them together are all permits. */
export function permitShare(permits: number, frontEnds: number, index: number): number {
  return Math.floor(permits / frontEnds) + (index < permits % frontEnds ? 1 : 0)
}

/**
 * The request semaphore: lets so many requests work at the same time, first come, first served, over all front ends
 * [management 5.2]. Who would wait too long is refused, see `Overload`.
 */
export class Admission {
  readonly #tickets: SharedSemaphore
  readonly #share: number
  readonly #meter: WaitMeter
  readonly #report: AdmissionReport
  readonly #overload: Overload
  /** In the order of their tickets; one that gives up stays until its permit comes, to pass it on. */
  readonly #queue = new Set<Waiting>()
  #taken = 0
  #waiting = 0
  #serving = false
  #watching = false
  #timing = false

  /** `share` is what this front end counts of the permits, see `permitShare`. */
  constructor(
    tickets: SharedSemaphore,
    share: number,
    meter: WaitMeter,
    report: AdmissionReport,
    overload: Overload = new Overload(0n),
  ) {
    this.#overload = overload
    this.#tickets = tickets
    this.#share = share
    this.#meter = meter
    this.#report = report
    this.#tell()
  }

  /** Whether somebody waits for a permit, so that it is worth asking whether one more is refused. */
  get isCrowded(): boolean {
    return this.#queue.size > 0
  }

  /** Refuses a request that has not been read yet, which need not be read then; says whether it is refused. */
  turnsAway(): boolean {
    const refuses = this.#refuses
    if (refuses) this.#report.refused()
    return refuses
  }

  get #refuses(): boolean {
    if (this.#queue.size === 0) return false
    // Whoever has given up waiting still tells how long it is that no permit came.
    const [first] = this.#queue
    if (first === undefined) return false
    const now = process.hrtime.bigint()
    return this.#overload.refuses(now - first.since, now)
  }

  /**
   * Starts the work with a permit: now when one is free, else when it is this one's turn. Who has something to do when it
   * is refused may be, now or while it waits.
   */
  ask(work: (place: Permit) => void, refused?: () => void): Permit {
    if (refused !== undefined && this.turnsAway()) {
      refused()
      return nowhere
    }
    const place = new Waiting(this, work, refused, this.#tickets.draw())
    if (this.#tickets.isGranted(place.ticket)) {
      if (this.#meter.on) this.#meter.free()
      this.#give(place)
    } else {
      place.since = process.hrtime.bigint()
      this.#queue.add(place)
      this.#waiting += 1
      this.#tell()
      this.#watch()
      this.#limitWaits()
    }
    return place
  }

  /** The place's end, be it waiting or working; a second time changes nothing. */
  leave(place: Waiting): void {
    if (place.state === 'left') return
    if (place.state === 'admitted') {
      this.#taken -= 1
      this.#tickets.release()
    } else this.#waiting -= 1
    place.state = 'left'
    this.#tell()
    this.#serve()
  }

  /** Work may end before it returns and leave its place: that only frees the permit, the loop outside gives it on. */
  #serve(): void {
    if (this.#serving || this.#queue.size === 0) return
    this.#serving = true
    for (const next of this.#queue) {
      if (!this.#tickets.isGranted(next.ticket)) break
      this.#queue.delete(next)
      if (next.state === 'waiting') this.#refuseIfLate(next)
      if (next.state === 'left') this.#tickets.release()
      else {
        this.#waiting -= 1
        this.#measure(next)
        this.#give(next)
      }
    }
    this.#serving = false
    this.#watch()
  }

  /** Permits that come back in other front ends are heard of through the memory. */
  #watch(): void {
    const [first] = this.#queue
    if (first === undefined || this.#watching) return
    this.#watching = true
    this.#tickets.mayBeGranted(first.ticket).then(() => {
      this.#watching = false
      this.#serve()
    })
  }

  /** Where no permit comes back nobody is served, and nobody would hear that it has waited too long. */
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
    if (next.refused === undefined || !this.#overload.isTooLong(process.hrtime.bigint() - next.since)) return
    next.state = 'left'
    this.#waiting -= 1
    this.#tell()
    this.#report.refused()
    next.refused()
  }

  #give(place: Waiting): void {
    this.#taken += 1
    place.state = 'admitted'
    this.#tell()
    place.work(place)
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

/** Of a request that was refused: it has nothing to give back. */
const nowhere: Permit = { leave: () => {} }

class Waiting implements Permit {
  readonly #admission: Admission
  readonly work: (place: Permit) => void
  readonly refused: (() => void) | undefined
  readonly ticket: Ticket
  since: Nanoseconds = 0n
  state: 'waiting' | 'admitted' | 'left' = 'waiting'

  constructor(admission: Admission, work: (place: Permit) => void, refused: (() => void) | undefined, ticket: Ticket) {
    this.#admission = admission
    this.work = work
    this.refused = refused
    this.ticket = ticket
  }

  leave(): void {
    this.#admission.leave(this)
  }
}
