/**
 * How long something is there that goes once, as a connection or a thread, for those who wait for something else as long as it is.
 * `Promise.race` with a promise that stays pending keeps a reaction in it for each race, as long as that is; this keeps nothing.
 */
export class Lifetime {
  readonly #waiting = new Set<(why: unknown) => void>()
  #over: { readonly why: unknown } | undefined

  /** It is over: whoever waits hears why. */
  end(why: unknown): void {
    this.#over ??= { why }
    for (const reject of this.#waiting) reject(why)
    this.#waiting.clear()
  }

  /** What some work gives; rejects with why this is over, if that comes first. */
  during<Value>(work: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (this.#over === undefined) this.#waiting.add(reject)
      else reject(this.#over.why)
      const done = (): boolean => this.#waiting.delete(reject)
      work.then(resolve, reject).finally(done)
    })
  }
}
