import type { IncomingHttpHeaders } from 'node:http'
import type { ApiResponse, StatusText } from '../api.js'
import type { ServicePath, Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import { err, ok, type Result } from '../result.js'
import { statusAnswer } from './render/responses.js'
import { statusOf } from './render/status.js'

const defaultTenant = '' as Tenant
const maxTenant_characters = 50

/** The tenant of a request; without `multiservice` the header is checked but means nothing [context 5.1]. */
export function parseTenant(headers: IncomingHttpHeaders, multiservice: boolean): Result<Tenant, ApiResponse> {
  const header = headers['fiware-service']
  if (header === undefined || header === '') return ok(defaultTenant)
  const name = String(header)
  if (name.length > maxTenant_characters) {
    return malformed('bad length - a tenant name can be max 50 characters long')
  }
  if (!/^[A-Za-z0-9_]+$/.test(name)) {
    return malformed('bad character in tenant name - only underscore and alphanumeric characters are allowed')
  }
  return ok(multiservice ? (name.toLowerCase() as Tenant) : defaultTenant)
}

function malformed(details: string): Result<Tenant, ApiResponse> {
  return err(statusAnswer('orionError', statusOf(400, details)))
}

/** All paths: `/#`. */
export const everywhere: PathRange = { path: '/' as ServicePath, below: true }
const allPaths: readonly PathRange[] = [everywhere]

/** Where a read looks: everywhere unless the request says where [context 5.2]. */
export function pathsOfRead(paths: readonly PathRange[]): readonly PathRange[] {
  return paths.length === 0 ? allPaths : paths
}

/** The one path of an update [context 5.2]. */
export function pathOfUpdate(paths: readonly PathRange[]): Result<ServicePath, StatusText> {
  const [first] = paths
  if (first === undefined) return ok('/' as ServicePath)
  if (paths.length > 1) return err(statusOf(400, 'more than one service path in context update request'))
  return first.below ? err(statusOf(400, 'Bad Character in Service-Path')) : ok(first.path)
}

/** The one path that a subscription is bound to, if the request names one [subscriptions 2.1.1, 2.1.3]. */
export function pathOfSubscription(paths: readonly PathRange[]): Result<PathRange | undefined, StatusText> {
  const tooMany = paths.length > 1
  return tooMany ? err(statusOf(400, 'max one service-path allowed for subscriptions')) : ok(paths[0])
}
