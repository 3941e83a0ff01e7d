import type { RegisteredContext, Registration } from './registration.js'

/** A context with the registration that it belongs to and its place there. */
export interface Listed {
  readonly registration: Registration
  readonly at: number
  readonly context: RegisteredContext
}

/** Registrations come by creation, the contexts of one as they are given in it [subscriptions 7.2]. */
export function compareListed(a: Listed, b: Listed): number {
  return a.registration.order - b.registration.order || a.at - b.at
}

/** Contexts in their order. Most come in that order, so that they only have to be put behind the others. */
export class OrderedContexts {
  readonly #contexts: Listed[] = []

  get all(): readonly Listed[] {
    return this.#contexts
  }

  /** An entity or attribute that a context has twice is entered once. */
  add(listed: Listed): void {
    const place = this.#placeOf(listed)
    if (this.#contexts[place] !== listed) this.#contexts.splice(place, 0, listed)
  }

  remove(listed: Listed): void {
    const place = this.#placeOf(listed)
    if (this.#contexts[place] === listed) this.#contexts.splice(place, 1)
  }

  #placeOf(listed: Listed): number {
    const last = this.#contexts.at(-1)
    if (last === undefined || compareListed(last, listed) < 0) return this.#contexts.length
    let [low, high] = [0, this.#contexts.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      const held = this.#contexts[middle]
      if (held !== undefined && compareListed(held, listed) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
