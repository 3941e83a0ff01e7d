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

/**
 * Puts a context in its place among others; one that is there already is entered once. Most come in their order, so that
 * they only have to be put behind the others.
 */
export function enterListed(contexts: Listed[], listed: Listed): void {
  const place = placeOf(contexts, listed)
  if (!isSame(contexts[place], listed)) contexts.splice(place, 0, listed)
}

/** Takes a context out, if it is there. */
export function leaveListed(contexts: Listed[], listed: Listed): void {
  const place = placeOf(contexts, listed)
  if (isSame(contexts[place], listed)) contexts.splice(place, 1)
}

function isSame(held: Listed | undefined, listed: Listed): boolean {
  return held?.registration === listed.registration && held.at === listed.at
}

function placeOf(contexts: readonly Listed[], listed: Listed): number {
  const last = contexts.at(-1)
  if (last === undefined || compareListed(last, listed) < 0) return contexts.length
  let [low, high] = [0, contexts.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    const held = contexts[middle]
    if (held !== undefined && compareListed(held, listed) < 0) low = middle + 1
    else high = middle
  }
  return low
}
