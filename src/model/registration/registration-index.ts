import type { Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import { type IndexedContext, isWritten, ordinalOf, resourceIdOf } from './contexts.js'
import type { Registration, RegistrationChange, RegistrationId } from './registration.js'
import { TenantRegistrations } from './tenant-registrations.js'

/** A page of a tenant's resources [NGSIv2 subscriptions 3.2, 10]. */
export interface ResourcePageRequest {
  readonly tenant: Tenant
  /** Registrations of exactly one of these paths; undefined for any. */
  readonly paths: readonly PathRange[] | undefined
  readonly offset: number
  readonly limit: number
}

/** By creation. */
interface ResourcePage {
  /** On all pages. */
  readonly count: number
  readonly resources: readonly IndexedContext[]
}

/**
 * All registrations in memory: one copy per thread that uses them, kept up to date by the changes that the owner publishes. It
 * reads no clock, so expired registrations, which can still be updated, stay and are skipped by readers.
 */
export class RegistrationIndex {
  readonly #tenants = new Map<Tenant, TenantRegistrations>()
  readonly #registrations = new Map<RegistrationId, Registration>()
  /** Resources whose ids differ from those of their registrations. */
  readonly #resources = new Map<RegistrationId, IndexedContext>()

  /** The number of registrations, expired ones included. */
  get size(): number {
    return this.#registrations.size
  }

  /** Expired ones included, in the order of their first `put`. */
  all(): Iterable<Registration> {
    return this.#registrations.values()
  }

  /** The registration of this id, expired or not, of any tenant. */
  get(id: RegistrationId): Registration | undefined {
    return this.#registrations.get(id)
  }

  /** Whether the tenant has no registrations, so that its requests need no look-ups here. */
  isEmpty(tenant: Tenant): boolean {
    return !this.#tenants.has(tenant)
  }

  /** The registrations of the tenant; undefined when there are none. */
  of(tenant: Tenant): TenantRegistrations | undefined {
    return this.#tenants.get(tenant)
  }

  /** A page of the resources of NGSIv2, expired ones included [NGSIv2 subscriptions 9, 10]. */
  page({ tenant, paths, offset, limit }: ResourcePageRequest): ResourcePage {
    const all = this.#tenants.get(tenant)?.contexts ?? []
    const meant = paths === undefined ? all : all.filter(({ registration }) => isWritten(registration, paths))
    return { count: meant.length, resources: meant.slice(offset, offset + limit) }
  }

  /** The resource of this id, expired or not [NGSIv2 subscriptions 9]. */
  resource(tenant: Tenant, id: RegistrationId): IndexedContext | undefined {
    const found = this.#resources.get(id) ?? this.#firstResource(id)
    return found?.registration.tenant === tenant ? found : undefined
  }

  apply(changes: readonly RegistrationChange[]): void {
    for (const change of changes) {
      if (change.kind === 'put') this.put(change.registration)
      else this.remove(change.id)
    }
  }

  put(registration: Registration): void {
    const { id, tenant, contexts } = registration
    const entered = contexts.map((context, at) => ({ registration, at, context }))
    // A replaced registration keeps its place, and the ids of resources that stay are not removed before they are set.
    this.#leave(id, new Set(entered.map(ordinalOf)))
    const registrations = this.#tenants.get(tenant) ?? new TenantRegistrations()
    if (contexts.length > 0) this.#tenants.set(tenant, registrations)
    registrations.enter(entered)
    for (const indexed of entered) {
      const resource = resourceIdOf(indexed)
      if (resource !== id) this.#resources.set(resource, indexed)
    }
    this.#registrations.set(id, registration)
  }

  remove(id: RegistrationId): void {
    this.#leave(id, new Set())
    this.#registrations.delete(id)
  }

  /** Removes all contexts of a registration, and its resources but those of these ordinals. */
  #leave(id: RegistrationId, kept: ReadonlySet<number>): void {
    const held = this.#registrations.get(id)
    if (held === undefined) return
    const { tenant, contexts } = held
    const registrations = this.#tenants.get(tenant)
    registrations?.leave(held)
    for (const [at, context] of contexts.entries()) {
      const indexed = { registration: held, at, context }
      if (!kept.has(ordinalOf(indexed))) this.#resources.delete(resourceIdOf(indexed))
    }
    if (registrations?.isEmpty) this.#tenants.delete(tenant)
  }

  #firstResource(id: RegistrationId): IndexedContext | undefined {
    const registration = this.#registrations.get(id)
    if (registration === undefined) return undefined
    for (const [at, context] of registration.contexts.entries()) {
      const indexed = { registration, at, context }
      if (resourceIdOf(indexed) === id) return indexed
    }
    return undefined
  }
}
