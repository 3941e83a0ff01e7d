import type { Steps } from '../../slices.js'
import { compareBytes } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import type { RegisteredContext, Registration, RegistrationChange, RegistrationId } from './registration.js'

/** A context, its registration and its position in it. */
export interface IndexedContext {
  readonly registration: Registration
  readonly at: number
  readonly context: RegisteredContext
}

type Position = Pick<IndexedContext, 'registration' | 'at'>

/** Orders registrations by creation, and the contexts of one as they are given in it [subscriptions 7.2]. */
export function compareContexts(a: Position, b: Position): number {
  return a.registration.order - b.registration.order || a.at - b.at
}

/** Inserts the contexts of a registration, in order, into an ordered list that has none of them. Most come in order and are appended. */
export function insertContexts(contexts: IndexedContext[], inserted: readonly IndexedContext[]): void {
  const [first] = inserted
  if (first !== undefined) contexts.splice(positionOf(contexts, first), 0, ...inserted)
}

/** Removes the contexts of a registration from an ordered list; gives them. */
export function removeContexts(contexts: IndexedContext[], registration: Registration): readonly IndexedContext[] {
  const start = positionOf(contexts, { registration, at: 0 })
  const first = contexts[start]
  if (first?.registration !== registration) return []
  return contexts.splice(start, behind(contexts, first, start) - start)
}

/**
 * The first context of a registration that counts, in steps. Of a registration that does not count, the other contexts are passed
 * over. The list may change between the steps.
 */
export function* firstCounting(
  contexts: readonly IndexedContext[],
  counts: (context: IndexedContext) => boolean,
): Steps<IndexedContext | undefined> {
  let at = 0
  for (let tried = 1; ; tried += 1) {
    const context = contexts[at]
    if (context === undefined || counts(context)) return context
    if (tried % triedAtOnce === 0) yield
    at = behind(contexts, context, at)
  }
}

/** This many registrations are tried between two steps. */
const triedAtOnce = 256

/** The position behind all contexts of the registration of one, which stands at this position unless the list has changed. */
export function behind(contexts: readonly IndexedContext[], context: IndexedContext, at: number): number {
  const next = contexts[at + 1]
  if (contexts[at] === context && next?.registration !== context.registration) return at + 1
  return positionOf(contexts, { registration: context.registration, at: Number.POSITIVE_INFINITY })
}

/** Where one stands in an ordered list, or would stand. */
function positionOf(contexts: readonly IndexedContext[], indexed: Position): number {
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
 * The id of a context as a resource of NGSIv2: that of the registration for its first context, for others one made from it and
 * their position. It stays the same while they are registered [NGSIv2 subscriptions 9].
 */
export function resourceIdOf(indexed: IndexedContext): RegistrationId {
  const { id } = indexed.registration
  const ordinal = ordinalOf(indexed)
  if (ordinal === 0) return id
  // The digits behind the second are random, and stay so when a number is added; an odd step gives each position another id.
  const random = BigInt.asUintN(64, BigInt(`0x${id.slice(second_digits)}`) + BigInt(ordinal) * step)
  return `${id.slice(0, second_digits)}${random.toString(16).padStart(16, '0')}` as RegistrationId
}

/** The position of a context when its registration was made. */
export function ordinalOf({ at, context }: IndexedContext): number {
  return context.ordinal ?? at
}

/** The digits of the second of creation, with which an id begins [subscriptions 1.4]. */
const second_digits = 8

const step = 0x9e37_79b9_7f4a_7c15n

/** The change of a registration that loses contexts: the others keep their ids; without any it is removed. */
export function withoutContexts(
  registration: Registration,
  isLost: (context: RegisteredContext, at: number) => boolean,
): RegistrationChange {
  const numbered = registration.contexts.map((context, at) => ({
    ...context,
    ordinal: ordinalOf({ registration, at, context }),
  }))
  const contexts = numbered.filter((context, at) => !isLost(context, at))
  if (contexts.length === 0) return { kind: 'remove', id: registration.id }
  return { kind: 'put', registration: { ...registration, contexts } }
}

/** Whether the path of a registration equals one of these as written [NGSIv2 subscriptions 3.2]. */
export function isWritten({ path }: Pick<Registration, 'path'>, paths: readonly PathRange[]): boolean {
  return paths.some((each) => each.path === path && !each.below)
}

/**
 * The contexts of a tenant in order, for lists of NGSIv2. Registrations come and go far more often than they are listed, so
 * removed contexts are dropped, and those that came out of order are sorted in, only when the list is read, or when half of it is
 * gone.
 */
export class OrderedContexts {
  #contexts: IndexedContext[] = []
  readonly #gone = new Set<Registration>()
  #inOrder = true
  #size = 0

  get size(): number {
    return this.#size
  }

  get all(): readonly IndexedContext[] {
    this.#forget()
    if (!this.#inOrder) this.#contexts.sort(compareContexts)
    this.#inOrder = true
    return this.#contexts
  }

  enter(context: IndexedContext): void {
    if (this.#gone.has(context.registration)) this.#forget() // It was removed and comes back.
    const last = this.#contexts.at(-1)
    if (last !== undefined && compareContexts(last, context) > 0) this.#inOrder = false
    this.#contexts.push(context)
    this.#size += 1
  }

  /** Removes a registration of which all contexts were entered. */
  leave(registration: Registration): void {
    this.#gone.add(registration)
    this.#size -= registration.contexts.length
    if (this.#size * 2 < this.#contexts.length) this.#forget()
  }

  #forget(): void {
    if (this.#gone.size === 0) return
    this.#contexts = this.#contexts.filter(({ registration }) => !this.#gone.has(registration))
    this.#gone.clear()
  }
}

/** The source of a copy: one subscription of another registry, in one tenant and path. */
export type CopySource = Pick<Registration, 'tenant' | 'path' | 'copiedFrom'>

/** Finds the registration that holds what notifyContextAvailability has told, when it is told again. */
export class Copies {
  readonly #holders = new Map<string, Map<string, RegistrationId>>()

  /** The registrations that hold some of these contexts from the same source. */
  holders(source: CopySource, told: ToldContexts): ReadonlySet<RegistrationId> {
    const holders = this.#holders.get(sourceKey(source))
    return new Set([...told.keys()].flatMap((key) => holders?.get(key) ?? []))
  }

  /** Records a registration if it is a copy, in steps: it may have thousands of contexts. */
  *keep(registration: Registration): Steps<void> {
    if (registration.copiedFrom === undefined) return
    const key = sourceKey(registration)
    const holders = this.#holders.get(key) ?? new Map<string, RegistrationId>()
    this.#holders.set(key, holders)
    for (const context of registration.contexts) {
      holders.set(contextKey(context), registration.id)
      yield
    }
  }

  /** Forgets a copy that is to be replaced or removed, in steps. */
  *forget(registration: Registration): Steps<void> {
    if (registration.copiedFrom === undefined) return
    const key = sourceKey(registration)
    const holders = this.#holders.get(key)
    for (const context of registration.contexts) {
      holders?.delete(contextKey(context))
      yield
    }
    if (holders?.size === 0) this.#holders.delete(key)
  }
}

/**
 * Contexts by what makes them the same: those with the same entities, attribute names and provider, in whatever order
 * [subscriptions 7.5].
 */
export type ToldContexts = ReadonlyMap<string, RegisteredContext>

/**
 * The change of an earlier copy when contexts are told again: it loses those, and is removed when it has no others [subscriptions
 * 7.5]. In steps: both may have thousands.
 */
export function* withoutRepeated(copy: Registration, again: ToldContexts): Steps<RegistrationChange> {
  const repeated = new Set<number>()
  for (const [at, context] of copy.contexts.entries()) {
    if (again.has(contextKey(context))) repeated.add(at)
    yield
  }
  return withoutContexts(copy, (_, at) => repeated.has(at))
}

/**
 * The contexts, each once, in steps: registries that tell each other tell the same ones again and again, and more of them each
 * time if they kept all [subscriptions 7.5].
 */
export function* eachOnce(contexts: readonly RegisteredContext[]): Steps<ToldContexts> {
  const once = new Map<string, RegisteredContext>()
  for (const context of contexts) {
    once.set(contextKey(context), context)
    yield
  }
  return once
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
