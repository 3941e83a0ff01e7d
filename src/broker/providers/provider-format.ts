import type { EntityId, EntityType } from '../../model/context/entity.js'
import type { GivenAttribute } from '../../model/context/update.js'
import type { Result } from '../../result.js'
import type { StatusText } from '../operations/api.js'
import type { NgsiForm, ProviderFailure, ProviderResponse } from './provider-request.js'
import type { QueryForward, ShownEntity } from './query-plan.js'
import type { UpdateForward } from './update-plan.js'

/** What is sent to a provider: behind the path of what is registered, with URI parameters. */
export interface ProviderMessage {
  readonly path: string
  /** Without the question mark; empty for none. */
  readonly parameters: string
  readonly body: string
}

/** Which part of its results a provider is asked for [NGSIv2 subscriptions 11.2]. */
export interface ForwardPage {
  readonly limit: number
  readonly offset: number
}

/** What a provider answered to a query. It is not trusted: whatever is malformed has been left out. */
export interface QueryAnswer {
  readonly elements: readonly ShownEntity[]
  /** What it says when it found nothing. */
  readonly details: string | undefined
  /** How many results it has, on whatever page, if it says so. */
  readonly count: number | undefined
}

/** What a provider answered to an update. */
export interface UpdateAnswer {
  readonly elements: readonly AnsweredElement[]
  /** What it says of the whole. */
  readonly status: StatusText | undefined
}

/** An entity as a provider names it. */
export interface AnsweredName {
  readonly id: EntityId
  readonly type: EntityType
  readonly isPattern?: boolean | undefined
}

/** What a provider says of some attributes of an entity, or of all of them when it names none. */
export interface AnsweredElement extends AnsweredName {
  /** Without values, which mean nothing here. */
  readonly attributes: readonly GivenAttribute[]
  readonly status: StatusText
}

/**
 * How providers are asked in one form: what is sent to them, and how their answers are read, which may be long, so that others
 * have their turn meanwhile [subscriptions 8.2, 8.3], [NGSIv2 subscriptions 11.2, 11.3].
 */
export interface ProviderFormat {
  readonly query: (forward: QueryForward, page: ForwardPage) => ProviderMessage
  /** Clients of NGSIv1 are given the numbers of its providers as they are written, as texts [context 3.1]. */
  readonly readQuery: (response: ProviderResponse, client: NgsiForm) => Promise<Result<QueryAnswer, ProviderFailure>>
  readonly update: (forward: UpdateForward) => ProviderMessage
  readonly readUpdate: (response: ProviderResponse) => Promise<Result<UpdateAnswer, ProviderFailure>>
  /** The correlator of the request that is passed on as the nth, from 1, for one of a client. */
  readonly correlator: (correlator: string, nth: number) => string
}

/** A format for each form, put together where both are known. */
export type ProviderFormats = { readonly [Of in NgsiForm]: ProviderFormat }
