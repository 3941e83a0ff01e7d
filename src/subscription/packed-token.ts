import type { Notice } from './notice.js'

/** The token and the service of a request as they are written: the token alone where the service is the tenant, or there is none. */
export type PackedToken = string | readonly [token: string, service: string]

/** What `unpackedToken` reads. */
export function packedToken({ token, service }: Pick<Notice, 'token' | 'service'>, tenant: string): PackedToken {
  return service === undefined || service === '' || service === tenant ? token : [token, service]
}

/** Token and service; no service where there was none. */
export function unpackedToken(packed: PackedToken, tenant: string): readonly [token: string, service?: string] {
  if (typeof packed === 'object') return packed
  return tenant === '' ? [packed] : [packed, tenant]
}
