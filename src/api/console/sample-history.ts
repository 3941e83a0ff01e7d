/** What is read for a sample: sums since the start of the process, and figures of the moment. */
export interface Reading {
  /** Each never falls; `undefined` for those that are not measured now. */
  readonly sums: readonly (number | undefined)[]
  readonly gauges: readonly number[]
}

/** The growth of the sums within a time, and the figures at its end; NaN where there is no growth to tell. */
export interface Sample {
  /** The date of its end. */
  readonly time_ms: number
  readonly over_s: number
  readonly grown: Float32Array
  readonly gauges: Float32Array
}

export interface SampleShape {
  /** The number of samples that are kept, of sums, and of gauges. */
  readonly kept: number
  readonly sums: number
  readonly gauges: number
  /** After a longer pause the process, or its machine, slept: no sample is made, so that there is a gap. */
  readonly longest_s: number
}

/**
 * The last samples of figures, in memory that does not grow. Times are those of a clock that never jumps and that also counts
 * while the machine sleeps; a sample is dated when it is read, so that a jump of the date moves all of them.
 */
export class SampleHistory {
  readonly #shape: SampleShape
  readonly #times_s: Float64Array
  readonly #spans_s: Float32Array
  readonly #grown: Float32Array
  readonly #gauges: Float32Array
  /** The number of samples so far. */
  #taken = 0
  #before: { readonly sums: Reading['sums']; readonly at_s: number }

  /** Begins at this time, with all sums at 0. */
  constructor(shape: SampleShape, at_s: number) {
    this.#before = { sums: new Array(shape.sums).fill(0), at_s }
    this.#shape = shape
    this.#times_s = new Float64Array(shape.kept)
    this.#spans_s = new Float32Array(shape.kept)
    this.#grown = new Float32Array(shape.kept * shape.sums)
    this.#gauges = new Float32Array(shape.kept * shape.gauges)
  }

  /** Keeps what has happened since the reading before. */
  take(reading: Reading, at_s: number): void {
    const span_s = this.#spanTo(at_s)
    if (span_s !== undefined) {
      const place = this.#taken % this.#shape.kept
      this.#times_s[place] = at_s
      this.#spans_s[place] = span_s
      this.#grown.set(this.#growth(reading), place * this.#shape.sums)
      this.#gauges.set(reading.gauges, place * this.#shape.gauges)
      this.#taken += 1
    }
    this.#before = { sums: reading.sums, at_s }
  }

  /** The samples that ended within the last seconds, the oldest first, and one of what has happened since the last of them. */
  last(seconds: number, reading: Reading, at_s: number, date_ms: number): readonly Sample[] {
    const { kept, sums, gauges } = this.#shape
    const dated = (end_s: number) => Math.round(date_ms - 1000 * (at_s - end_s))
    const samples: Sample[] = []
    for (let number = Math.max(0, this.#taken - kept); number < this.#taken; number += 1) {
      const place = number % kept
      const end_s = this.#times_s[place] ?? 0
      if (end_s <= at_s - seconds) continue
      samples.push({
        time_ms: dated(end_s),
        over_s: this.#spans_s[place] ?? 0,
        grown: this.#grown.slice(place * sums, (place + 1) * sums),
        gauges: this.#gauges.slice(place * gauges, (place + 1) * gauges),
      })
    }
    const over_s = this.#spanTo(at_s)
    if (over_s === undefined) return samples
    const latest = { grown: Float32Array.from(this.#growth(reading)), gauges: Float32Array.from(reading.gauges) }
    return [...samples, { time_ms: dated(at_s), over_s, ...latest }]
  }

  /** The time since the last reading; nothing if that says little. */
  #spanTo(at_s: number): number | undefined {
    const span_s = at_s - this.#before.at_s
    return span_s > 0 && span_s <= this.#shape.longest_s ? span_s : undefined
  }

  #growth({ sums }: Reading): readonly number[] {
    return sums.map((sum, at) => {
      const before = this.#before.sums[at]
      // A sum that was switched on, or that is read while it changes, tells nothing yet.
      return sum === undefined || before === undefined ? Number.NaN : Math.max(0, sum - before)
    })
  }
}
