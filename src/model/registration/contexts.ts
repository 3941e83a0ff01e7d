import { compareBytes } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import type { RegisteredContext, Registration, RegistrationChange, RegistrationId } from './registration.js'

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

/**
 * The id of a context as a resource of NGSIv2: that of its registration for the first, for others one that is made of it
 * and of their position, so that it stays the same for as long as they are registered [NGSIv2 subscriptions 9].
 */
export function resourceIdOf({ registration: { id }, at, context }: IndexedContext): RegistrationId {
  const ordinal = context.ordinal ?? at
  if (ordinal === 0) return id
  // What follows the second is random, and stays so when something is added to it; an odd step gives each position another.
  const random = BigInt.asUintN(64, BigInt(`0x${id.slice(second_digits)}`) + BigInt(ordinal) * step)
  return `${id.slice(0, second_digits)}${random.toString(16).padStart(16, '0')}` as RegistrationId
}

/** The second of its creation, with which an id begins [subscriptions 1.4]. */
const second_digits = 8

const step = 0x9e37_79b9_7f4a_7c15n

/** What becomes of a registration that loses contexts: the others keep their ids, and without any it ends. */
export function withoutContexts(
  registration: Registration,
  isLost: (context: RegisteredContext, at: number) => boolean,
): RegistrationChange {
  const numbered = registration.contexts.map((context, at) => ({ ...context, ordinal: context.ordinal ?? at }))
  const contexts = numbered.filter((context, at) => !isLost(context, at))
  if (contexts.length === 0) return { kind: 'remove', id: registration.id }
  return { kind: 'put', registration: { ...registration, contexts } }
}

/** Whether the path of a registration is written exactly as one of these [NGSIv2 subscriptions 3.2]. */
export function isWritten({ path }: Pick<Registration, 'path'>, paths: readonly PathRange[]): boolean {
  return paths.some((each) => each.path === path && !each.below)
}

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
