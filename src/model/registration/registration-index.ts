import type { Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import { type IndexedContext, isWritten, resourceIdOf } from './contexts.js'
import type { Registration, RegistrationChange, RegistrationId } from './registration.js'
import { TenantRegistrations } from './tenant-registrations.js'

/** Which part of the resources of a tenant a list shows [NGSIv2 subscriptions 3.2, 10]. */
export interface ResourcePageAsked {
  readonly tenant: Tenant
  /** Only those of registrations of exactly one of these paths; nothing for any. */
  readonly paths: readonly PathRange[] | undefined
  readonly offset: number
  readonly limit: number
}

/** By creation. */
interface ResourcePage {
  /** Of all, on whatever page. */
  readonly count: number
  readonly resources: readonly IndexedContext[]
}

/**
 * All registrations in memory: one copy for each thread that asks, kept up by the changes that the owner publishes. It
 * reads no clock, so the expired ones, which can still be updated, lie among the others and are passed over.
 */
export class RegistrationIndex {
  readonly #tenants = new Map<Tenant, TenantRegistrations>()
  readonly #registrations = new Map<RegistrationId, Registration>()
  /** The resources whose ids are not those of their registrations. */
  readonly #resources = new Map<RegistrationId, IndexedContext>()

  /** How many registrations there are, expired ones included. */
  get size(): number {
    return this.#registrations.size
  }

  /** Expired ones included, in the order in which they were put first. */
  all(): Iterable<Registration> {
    return this.#registrations.values()
  }

  /** The one of this id, expired or not, whatever its tenant. */
  get(id: RegistrationId): Registration | undefined {
    return this.#registrations.get(id)
  }

  /** Whether nothing is registered in the tenant, so that nothing of its requests has to be looked up here. */
  isEmpty(tenant: Tenant): boolean {
    return !this.#tenants.has(tenant)
  }

  /** What is registered in the tenant; nothing when that is nothing. */
  of(tenant: Tenant): TenantRegistrations | undefined {
    return this.#tenants.get(tenant)
  }

  /** A page of the resources of NGSIv2, expired ones included [NGSIv2 subscriptions 9, 10]. */
  page({ tenant, paths, offset, limit }: ResourcePageAsked): ResourcePage {
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

  /** Adds a registration, or replaces the one with its id. */
  put(registration: Registration): void {
    const { id, tenant, contexts } = registration
    // One that is replaced keeps its place.
    this.#leave(id)
    const registrations = this.#tenants.get(tenant) ?? new TenantRegistrations()
    if (contexts.length > 0) this.#tenants.set(tenant, registrations)
    for (const [at, context] of contexts.entries()) {
      const indexed = { registration, at, context }
      registrations.enter(indexed)
      const resource = resourceIdOf(indexed)
      if (resource !== id) this.#resources.set(resource, indexed)
    }
    this.#registrations.set(id, registration)
  }

  remove(id: RegistrationId): void {
    this.#leave(id)
    this.#registrations.delete(id)
  }

  #leave(id: RegistrationId): void {
    const held = this.#registrations.get(id)
    if (held === undefined) return
    const { tenant, contexts } = held
    const registrations = this.#tenants.get(tenant)
    for (const [at, context] of contexts.entries()) {
      const indexed = { registration: held, at, context }
      registrations?.leave(indexed)
      this.#resources.delete(resourceIdOf(indexed))
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
