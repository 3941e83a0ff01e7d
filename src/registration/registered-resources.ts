import type { PathRange } from '../context/query.js'
import type { IndexedContext } from './indexed-contexts.js'
import type { RegisteredContext, Registration, RegistrationChange, RegistrationId } from './registration.js'

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
