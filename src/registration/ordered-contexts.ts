import { compareContexts, type IndexedContext } from './indexed-contexts.js'
import type { Registration } from './registration.js'

/**
 * The contexts of a tenant in their order, as lists of NGSIv2 show them. Registrations come and go far more often than they
 * are listed, so what has gone is taken out, and what came out of order is put in its place, when somebody looks, or when
 * half of what is held has gone.
 */
export class OrderedContexts {
  #contexts: IndexedContext[] = []
  readonly #gone = new Set<Registration>()
  #inOrder = true
  #size = 0

  /** How many there are. */
  get size(): number {
    return this.#size
  }

  /** All of them, in their order. */
  get all(): readonly IndexedContext[] {
    this.#forget()
    if (!this.#inOrder) this.#contexts.sort(compareContexts)
    this.#inOrder = true
    return this.#contexts
  }

  enter(context: IndexedContext): void {
    if (this.#gone.has(context.registration)) this.#forget() // It is put back.
    const last = this.#contexts.at(-1)
    if (last !== undefined && compareContexts(last, context) > 0) this.#inOrder = false
    this.#contexts.push(context)
    this.#size += 1
  }

  /** One of all contexts of a registration leaves; the others follow. */
  leave({ registration }: IndexedContext): void {
    this.#gone.add(registration)
    this.#size -= 1
    if (this.#size * 2 < this.#contexts.length) this.#forget()
  }

  #forget(): void {
    if (this.#gone.size === 0) return
    this.#contexts = this.#contexts.filter(({ registration }) => !this.#gone.has(registration))
    this.#gone.clear()
  }
}
