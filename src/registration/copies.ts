import { compareBytes } from '../context/entity.js'
import { withoutContexts } from './registered-resources.js'
import type { RegisteredContext, Registration, RegistrationChange, RegistrationId } from './registration.js'

/** Whose copies they are: what one subscription of another registry told, in one tenant and path. */
type CopySource = Pick<Registration, 'tenant' | 'path' | 'copiedFrom'>

/** Which registration holds what notifyContextAvailability told, so that it is found when it is told again. */
export class Copies {
  readonly #holders = new Map<string, Map<string, RegistrationId>>()

  /** Notes a registration, if it is a copy. */
  keep(registration: Registration): void {
    if (registration.copiedFrom === undefined) return
    const key = sourceKey(registration)
    const holders = this.#holders.get(key) ?? new Map<string, RegistrationId>()
    this.#holders.set(key, holders)
    for (const context of registration.contexts) holders.set(contextKey(context), registration.id)
  }

  /** Forgets a registration that is to be replaced or removed, if it is a copy. */
  forget(registration: Registration): void {
    if (registration.copiedFrom === undefined) return
    const key = sourceKey(registration)
    const holders = this.#holders.get(key)
    for (const context of registration.contexts) holders?.delete(contextKey(context))
    if (holders?.size === 0) this.#holders.delete(key)
  }

  /** The registrations that hold some of these contexts from the same source. */
  holders(source: CopySource, contexts: readonly RegisteredContext[]): ReadonlySet<RegistrationId> {
    const holders = this.#holders.get(sourceKey(source))
    return new Set(contexts.flatMap((context) => holders?.get(contextKey(context)) ?? []))
  }
}

/**
 * What becomes of an earlier copy when contexts are told again: it loses those, and ends when it has no others. The same
 * entities, names of attributes and provider are the same context, in whatever order [subscriptions 7.5].
 */
export function withoutTold(copy: Registration, told: readonly RegisteredContext[]): RegistrationChange {
  const again = new Set(told.map(contextKey))
  return withoutContexts(copy, (context) => again.has(contextKey(context)))
}

/**
 * What is told, each context once: registries that tell each other tell the same ones again and again, and more of them each
 * time if they kept all [subscriptions 7.5].
 */
export function toldOnce(told: readonly RegisteredContext[]): readonly RegisteredContext[] {
  return [...new Map(told.map((context) => [contextKey(context), context])).values()]
}

function sourceKey({ tenant, path, copiedFrom }: CopySource): string {
  return JSON.stringify([tenant, path, copiedFrom])
}

function contextKey({ entities, attributes, provider }: RegisteredContext): string {
  const named = entities.map(({ id, type }) => JSON.stringify([id, type]))
  const names = attributes.map(({ name }) => name)
  return JSON.stringify([provider, distinct(named), distinct(names)])
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort(compareBytes)
}
