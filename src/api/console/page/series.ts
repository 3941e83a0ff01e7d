/** The number of seconds that are kept. */
const kept_s = 3600

/** The shortest span of a chart. */
const least_s = 60

/**
 * The values of figures over the last hour, one for each second. A second without a value is a gap (NaN). Memory does not grow:
 * each series has its full size from its first value on.
 */
export class Series {
  readonly #courses = new Map<string, Float32Array>()
  #first_s = Number.POSITIVE_INFINITY
  #latest_s = 0

  /** The last second with values, since 1970. */
  get latest_s(): number {
    return this.#latest_s
  }

  /** The number of seconds to show: at most this many, not before the first value, and at least a minute. */
  shown(seconds: number): number {
    return Math.min(seconds, Math.max(least_s, this.#latest_s - this.#first_s + 1))
  }

  /** Records the values of a second. Seconds since the last one become gaps; a second from long ago is ignored. */
  record(second: number, values: Readonly<Record<string, number>>): void {
    if (second <= this.#latest_s - kept_s) return
    const gaps = Math.min(kept_s, second - this.#latest_s)
    for (let gap = 0; gap < gaps; gap += 1) {
      for (const course of this.#courses.values()) course[(second - gap) % kept_s] = Number.NaN
    }
    this.#latest_s = Math.max(this.#latest_s, second)
    this.#first_s = Math.min(this.#first_s, second)
    for (const name in values) {
      let course = this.#courses.get(name)
      if (course === undefined) {
        course = new Float32Array(kept_s).fill(Number.NaN)
        this.#courses.set(name, course)
      }
      course[second % kept_s] = values[name] ?? Number.NaN
    }
  }

  /** The last seconds of a series, the latest at the end. */
  last(name: string, seconds: number): Float32Array {
    const found = new Float32Array(seconds).fill(Number.NaN)
    const course = this.#courses.get(name)
    if (course === undefined) return found
    const first = this.#latest_s - seconds + 1
    for (let at = Math.max(0, -first); at < seconds; at += 1) found[at] = course[(first + at) % kept_s] ?? Number.NaN
    return found
  }
}

/** The series in at most this many points, each the highest value of its range, so that rare peaks stay visible. */
export function thinned(values: Float32Array, points: number): Float32Array {
  if (values.length <= points) return values
  const each = Math.ceil(values.length / points)
  return Float32Array.from({ length: Math.ceil(values.length / each) }, (_, at) => {
    let most = Number.NaN
    for (const value of values.subarray(at * each, (at + 1) * each))
      if (!(value <= most) && !Number.isNaN(value)) most = value
    return most
  })
}
