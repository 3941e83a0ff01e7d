import type { WaitMeter } from '../measure/waits.js'
import type { Nanoseconds } from '../time.js'

/** A request at the request semaphore: it waits or has a permit until it leaves. */
export interface Place {
  /** Gives the permit back, or gives up waiting. */
  leave(): void
}

/** What is told about the semaphore besides the waits themselves. */
export interface AdmissionReport {
  /** Its state, after each change. */
  permits(free: number, taken: number, queued: number): void
  /** Whether waits are wanted although their measurement is off. */
  readonly tracing: boolean
  /** A request got its permit after waiting. */
  waited(wait: Nanoseconds): void
}

/** The share of the permits that one of several front ends has: at least one [management 5.2]. */
export function permitShare(permits: number, frontEnds: number, index: number): number {
  const even = Math.floor(permits / frontEnds)
  return Math.max(1, index < permits % frontEnds ? even + 1 : even)
}

/** The request semaphore: lets so many requests work at the same time, first come, first served [management 5.2]. */
export class Admission {
  readonly #permits: number
  readonly #meter: WaitMeter
  readonly #report: AdmissionReport
  /** In the order of arrival; one that gives up leaves from the middle. */
  readonly #queue = new Set<Waiting>()
  #taken = 0
  #admitting = false

  constructor(permits: number, meter: WaitMeter, report: AdmissionReport) {
    this.#permits = permits
    this.#meter = meter
    this.#report = report
  }

  /** Starts the work with a permit: now when one is free, else when it is this one's turn. */
  ask(work: (place: Place) => void): Place {
    const place = new Waiting(this, work)
    if (this.#taken < this.#permits && this.#queue.size === 0) {
      if (this.#meter.on) this.#meter.free()
      this.#give(place)
    } else {
      if (this.#meter.on || this.#report.tracing) place.since = process.hrtime.bigint()
      this.#queue.add(place)
      this.#tell()
    }
    return place
  }

  /** The place's end, be it waiting or working; a second time changes nothing. */
  leave(place: Waiting): void {
    if (place.admitted) {
      place.admitted = false
      this.#taken -= 1
      this.#admit()
    } else this.#queue.delete(place)
    this.#tell()
  }

  /** Work may end before it returns and leave its place: that only frees the permit, the loop outside gives it on. */
  #admit(): void {
    if (this.#admitting) return
    this.#admitting = true
    for (const next of this.#queue) {
      if (this.#taken >= this.#permits) break
      this.#queue.delete(next)
      this.#measure(next)
      this.#give(next)
    }
    this.#admitting = false
  }

  #give(place: Waiting): void {
    this.#taken += 1
    place.admitted = true
    this.#tell()
    place.work(place)
  }

  #measure({ since }: Waiting): void {
    if (since === undefined) return
    const wait = process.hrtime.bigint() - since
    if (this.#meter.on) this.#meter.waited(wait)
    if (this.#report.tracing) this.#report.waited(wait)
  }

  #tell(): void {
    this.#report.permits(this.#permits - this.#taken, this.#taken, this.#queue.size)
  }
}

class Waiting implements Place {
  readonly #admission: Admission
  readonly work: (place: Place) => void
  since: Nanoseconds | undefined
  admitted = false

  constructor(admission: Admission, work: (place: Place) => void) {
    this.#admission = admission
    this.work = work
  }

  leave(): void {
    this.#admission.leave(this)
  }
}
