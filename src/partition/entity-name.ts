import type { EntityId, ServicePath, Tenant } from '../context/entity.js'

/**
 * Names what is kept of one id in one service path. Tenants and service paths have no spaces, so the name is
 * unambiguous whatever the id holds.
 */
export function entityName(tenant: Tenant, path: ServicePath, id: EntityId): string {
  return `${tenant} ${path} ${id}`
}
