import type { RegisteredContext, Registration } from './registration.js'

/** A context with the registration that it belongs to and its position in it. */
export interface IndexedContext {
  readonly registration: Registration
  readonly at: number
  readonly context: RegisteredContext
}

/** Registrations come by creation, the contexts of one as they are given in it [subscriptions 7.2]. */
export function compareContexts(a: IndexedContext, b: IndexedContext): number {
  return a.registration.order - b.registration.order || a.at - b.at
}

/**
 * Puts a context in its place among others; one that is there already is entered once. Most come in their order, so that
 * they only have to be put behind the others.
 */
export function insertContext(contexts: IndexedContext[], indexed: IndexedContext): void {
  const position = positionOf(contexts, indexed)
  if (!isSame(contexts[position], indexed)) contexts.splice(position, 0, indexed)
}

/** Takes a context out, if it is there. */
export function removeContext(contexts: IndexedContext[], indexed: IndexedContext): void {
  const position = positionOf(contexts, indexed)
  if (isSame(contexts[position], indexed)) contexts.splice(position, 1)
}

function isSame(held: IndexedContext | undefined, indexed: IndexedContext): boolean {
  return held?.registration === indexed.registration && held.at === indexed.at
}

function positionOf(contexts: readonly IndexedContext[], indexed: IndexedContext): number {
  const last = contexts.at(-1)
  if (last === undefined || compareContexts(last, indexed) < 0) return contexts.length
  let [low, high] = [0, contexts.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    const held = contexts[middle]
    if (held !== undefined && compareContexts(held, indexed) < 0) low = middle + 1
    else high = middle
  }
  return low
}
