import type { EntityId, EntityType } from '../../model/context/entity.js'
import type { GivenAttribute } from '../../model/context/update.js'
import type { Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import type { StatusText } from '../operations/api.js'
import type { NgsiForm, ProviderFailure, ProviderResponse } from './provider-request.js'
import type { QueryForward, ShownEntity } from './query-plan.js'
import type { UpdateForward } from './update-plan.js'

/** A request to a provider: a path behind the registered one, URI parameters, and a body. */
export interface ProviderMessage {
  readonly path: string
  /** Without the question mark; empty for none. */
  readonly parameters: string
  readonly body: string
}

/** The page of its results that a provider is asked for [NGSIv2 subscriptions 11.2]. */
export interface ForwardPage {
  readonly limit: number
  readonly offset: number
}

/** The parsed response to a query. Providers are not trusted: whatever is malformed has been left out. */
export interface ParsedQueryResponse {
  readonly elements: readonly ShownEntity[]
  /** The text of a provider that found nothing. */
  readonly details: string | undefined
  /** The number of its results on all pages, if it says so. */
  readonly count: number | undefined
}

/** The parsed response to an update. */
export interface ParsedUpdateResponse {
  readonly elements: readonly ResponseElement[]
  /** The status of the whole response. */
  readonly status: StatusText | undefined
}

/** An entity as a provider names it. */
export interface ResponseEntity {
  readonly id: EntityId
  readonly type: EntityType
  readonly isPattern?: boolean | undefined
}

/** A status for some attributes of an entity, or for all of them when it names none. */
export interface ResponseElement extends ResponseEntity {
  /** Values are ignored. */
  readonly attributes: readonly GivenAttribute[]
  readonly status: StatusText
}

/**
 * The form of requests to providers and of their responses. Responses are read in steps: they may be long, and other requests
 * have their turn meanwhile [subscriptions 8.2, 8.3], [NGSIv2 subscriptions 11.2, 11.3].
 */
export interface ProviderFormat {
  readonly query: (forward: QueryForward, page: ForwardPage) => ProviderMessage
  readonly readQuery: (response: ProviderResponse) => Steps<Result<ParsedQueryResponse, ProviderFailure>>
  readonly update: (forward: UpdateForward) => ProviderMessage
  readonly readUpdate: (response: ProviderResponse) => Steps<Result<ParsedUpdateResponse, ProviderFailure>>
  /** The correlator of the nth request, from 1, that is forwarded for one of a client. */
  readonly correlator: (correlator: string, nth: number) => string
}

export type ProviderFormats = { readonly [Of in NgsiForm]: ProviderFormat }
