import type { LineContext } from '../log/log.js'
import type { RegistrationId } from '../registration/registration.js'

/** Whose form a request has: that of a client, or of what is passed on to a provider. */
export type NgsiForm = 'ngsi1' | 'ngsi2'

/** To whom what is to go out is to go, and in which form. */
export interface AddressedRequest {
  /** What is registered as the provider; nobody has checked that it is a URL. */
  readonly provider: string
  /** The registration that names the provider. */
  readonly registration: RegistrationId
  readonly form: NgsiForm
}

/** A request that is passed on. */
export interface ProviderRequest extends Omit<AddressedRequest, 'form'> {
  readonly operation: ProviderOperation
  /** What goes behind the path of the provider. */
  readonly path: string
  /** URI parameters, without the question mark; empty for none. */
  readonly parameters: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly context: LineContext
  /** Aborted when the client does not wait any more: the request is given up. */
  readonly gone?: AbortSignal | undefined
}

export type ProviderOperation = 'query' | 'update'

/** The response of a provider, with any status. */
export interface ProviderResponse {
  readonly status: number
  /** The header `Fiware-Total-Count`, as it came. */
  readonly totalCount: string | undefined
  readonly body: string
}

/** Why there is no NGSI response: facts, which each API words in its own way [subscriptions 8.2, 8.3], [NGSIv2 subscriptions 11]. */
export type ProviderFailure =
  /** No connection, or no complete response in time. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'responseEmpty' }
  | { readonly kind: 'responseUnreadable' }
  /** A status that says neither that it was done nor that nothing was found. */
  | { readonly kind: 'responseRefusing'; readonly status: number }

/**
 * Where a request goes to: the path of the provider, a slash and that of the request. Without a path that is `//queryContext`,
 * or `//op/query`, where agents of devices listen [subscriptions 8.2], [NGSIv2 subscriptions 10]. Nothing when what is
 * registered is no URL that can be asked.
 */
export function urlOf({ provider, path: behind, parameters }: ProviderRequest): URL | undefined {
  if (!URL.canParse(provider)) return undefined
  const url = new URL(provider)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  if (url.hostname.length > longestHost) return undefined
  const path = url.pathname === '/' ? '/' : url.pathname.replace(/\/$/, '')
  url.pathname = `${path}/${behind}`
  if (parameters !== '') url.search = url.search === '' ? parameters : `${url.search}&${parameters}`
  url.hash = ''
  return url
}

/** DNS has no longer names; the names are keys of what is kept by origin. */
const longestHost = 255

/** Where a request goes to, as text, also if it can not go there. */
export function urlText(request: ProviderRequest): string {
  return urlOf(request)?.href ?? `${request.provider}/${request.path}`
}
