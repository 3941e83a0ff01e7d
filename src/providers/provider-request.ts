import type { LineContext } from '../log/log.js'
import type { RegistrationId } from '../registration/registration.js'

/** A request that is passed on. */
export interface ProviderRequest {
  /** The registration that names the provider. */
  readonly registration: RegistrationId
  /** What is registered as the provider; nobody has checked that it is a URL. */
  readonly provider: string
  readonly operation: ProviderOperation
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly context: LineContext
  /** Aborted when the client does not wait any more: the request is given up. */
  readonly gone?: AbortSignal | undefined
}

export type ProviderOperation = 'queryContext' | 'updateContext'

/** The response of a provider, with any status. */
export interface ProviderResponse {
  readonly status: number
  readonly body: string
}

/** Why there is no NGSI response: facts, which each operation renders in its own way [subscriptions 8.2, 8.3]. */
export type ProviderFailure =
  /** No connection, or no complete response in time. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'responseEmpty' }
  | { readonly kind: 'responseUnreadable' }

/**
 * Where a request goes to: the path of the provider, a slash and the operation. Without a path that is `//queryContext`,
 * where agents of devices listen [subscriptions 8.2]. Nothing when what is registered is no URL that can be asked.
 */
export function urlOf({ provider, operation }: ProviderRequest): URL | undefined {
  if (!URL.canParse(provider)) return undefined
  const url = new URL(provider)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  if (url.hostname.length > longestHost) return undefined
  const path = url.pathname === '/' ? '/' : url.pathname.replace(/\/$/, '')
  url.pathname = `${path}/${operation}`
  url.hash = ''
  return url
}

/** DNS has no longer names; the names are keys of what is kept by origin. */
const longestHost = 255

/** Where a request goes to, as text, also if it can not go there. */
export function urlText(request: ProviderRequest): string {
  return urlOf(request)?.href ?? `${request.provider}/${request.operation}`
}
