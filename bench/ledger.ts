/** What a feed knows of each device: what the broker has acknowledged, and what it has been sent but not answered. */
export class Ledger {
  readonly #acknowledged: Float64Array
  readonly #underWay: Float64Array

  /** All devices start with one reading, which is acknowledged. */
  constructor(devices: number, reading: number) {
    this.#acknowledged = new Float64Array(devices).fill(reading)
    this.#underWay = new Float64Array(devices).fill(Number.NaN)
  }

  get devices(): number {
    return this.#acknowledged.length
  }

  /** How many devices have a reading of which the broker has not answered yet. */
  get underWay(): number {
    return this.#underWay.reduce((sum, reading) => (Number.isNaN(reading) ? sum : sum + 1), 0)
  }

  sent(device: number, reading: number): void {
    this.#underWay[device] = reading
  }

  acknowledged(device: number, reading: number): void {
    this.#acknowledged[device] = reading
    this.#underWay[device] = Number.NaN
  }

  /**
   * Compares what the broker has with what it may have: the last acknowledged reading, or the one that was under way. A
   * broker that has the latter has taken it for good, so from now on it counts as acknowledged; otherwise it never came.
   */
  compare(device: number, reading: string): { readonly wrong?: string; readonly kept: boolean } {
    const acknowledged = this.#acknowledged[device] ?? Number.NaN
    const underWay = this.#underWay[device] ?? Number.NaN
    const kept = reading === String(underWay)
    const expected = Number.isNaN(underWay) ? `${acknowledged}` : `${acknowledged} or ${underWay}`
    this.acknowledged(device, kept ? underWay : acknowledged)
    if (kept || reading === String(acknowledged)) return { kept }
    return { kept, wrong: `has ${reading} instead of ${expected}` }
  }
}
