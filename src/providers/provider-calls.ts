import type { RegistrationId } from '../registration/registration.js'
import type { Milliseconds } from '../time.js'

/** How the calls of a provider went that one registration has caused, since the process began. */
export interface RegistrationCalls {
  readonly id: RegistrationId
  readonly calls: number
  readonly failures: number
  readonly lastCall: Milliseconds
  readonly lastFailure?: Milliseconds | undefined
  readonly lastFailureReason?: string | undefined
}

/** Registrations whose calls are counted; beyond this number the ones counted first are forgotten. */
const mostCounted = 10_000

/** Counts the calls of providers by registration, in one front end. */
export class ProviderCalls {
  readonly #counts = new Map<RegistrationId, Mutable<RegistrationCalls>>()

  /** A call has ended, with a failure or without one. */
  ended(id: RegistrationId, failure: string | undefined, at: Milliseconds): void {
    const held = this.#counts.get(id)
    const counts = held ?? { id, calls: 0, failures: 0, lastCall: at }
    counts.calls += 1
    counts.lastCall = at
    if (failure !== undefined) {
      counts.failures += 1
      counts.lastFailure = at
      counts.lastFailureReason = failure
    }
    if (held !== undefined) return
    this.#counts.set(id, counts)
    if (this.#counts.size > mostCounted) for (const [oldest] of this.#counts) return void this.#counts.delete(oldest)
  }

  /** The counts of those registrations of these that have caused calls. */
  of(ids: readonly RegistrationId[]): readonly RegistrationCalls[] {
    return ids.flatMap((id) => this.#counts.get(id) ?? [])
  }
}

type Mutable<Counts> = { -readonly [Name in keyof Counts]: Counts[Name] }

/** The counts of several front ends as one for each registration. */
export function callsTogether(parts: readonly RegistrationCalls[]): ReadonlyMap<RegistrationId, RegistrationCalls> {
  const together = new Map<RegistrationId, RegistrationCalls>()
  for (const part of parts) {
    const held = together.get(part.id)
    together.set(part.id, held === undefined ? part : sum(held, part))
  }
  return together
}

function sum(a: RegistrationCalls, b: RegistrationCalls): RegistrationCalls {
  const { lastFailure, lastFailureReason } = (a.lastFailure ?? 0) > (b.lastFailure ?? 0) ? a : b
  return {
    id: a.id,
    calls: a.calls + b.calls,
    failures: a.failures + b.failures,
    lastCall: a.lastCall > b.lastCall ? a.lastCall : b.lastCall,
    lastFailure,
    lastFailureReason,
  }
}
