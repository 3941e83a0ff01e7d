import { err, ok, type Result } from '../result.js'
import type { Tenant } from './entity.js'

const defaultTenant = '' as Tenant
const maxTenant_characters = 50

/**
 * The tenant that a Fiware-Service header names. A refusal is the text of the error. Without `multiservice` the header is
 * checked but means nothing [context 5.1], [NGSIv2 context 5].
 */
export function parseTenant(header: string | undefined, multiservice: boolean): Result<Tenant, string> {
  if (header === undefined || header === '') return ok(defaultTenant)
  if (header.length > maxTenant_characters) return err('bad length - a tenant name can be max 50 characters long')
  if (!/^[A-Za-z0-9_]+$/.test(header)) {
    return err('bad character in tenant name - only underscore and alphanumeric characters are allowed')
  }
  return ok(multiservice ? (header.toLowerCase() as Tenant) : defaultTenant)
}
