import { type ApiRequest, type ApiResponse, isLong, type Operation, type Work } from '../api.js'
import type { Broker } from '../broker/broker.js'
import type { Tenant } from '../context/entity.js'
import type { Log } from '../log/log.js'
import type { Options } from '../options.js'
import type { Providers } from '../providers/providers.js'
import type { Result } from '../result.js'
import type { ForwardLimit } from '../shared-memory/forward-limit.js'
import { atOnce, inSlices, type Steps } from '../slices.js'
import { parseTenant } from './tenant.js'

/** How requests for what is not held here are passed on [subscriptions 8]. */
export interface Forwarding {
  readonly providers: Pick<Providers, 'ask' | 'answerRoom'>
  /** Names the broker to others, the same in all of its threads. */
  readonly brokerId: string
  /** Most requests that are passed on for one of a client. */
  readonly limit: number
  /** Requests of clients for which providers are waited for, in all front ends. */
  readonly waiting: ForwardLimit
}

/** What the operations of NGSIv1 work with. */
export interface Ngsi1Services {
  readonly broker: Broker
  readonly options: Pick<Options, 'multiservice' | 'strictNgsiv1Ids' | 'ngsiv1Autocast' | 'queryTimeout_ms'>
  readonly log?: Log
  /** How requests are passed on to providers; nothing is without it. */
  readonly forwarding?: Forwarding
  readonly longPayloads: LongPayloads
}

/** Reads long payloads one after the other: while one is read it takes many times its bytes. */
export class LongPayloads {
  #last: Promise<unknown> = Promise.resolve()

  read<Read>(steps: Steps<Read>): Promise<Read> {
    const read = this.#last.then(() => inSlices(steps))
    this.#last = read.catch(() => {}) // Whoever asked hears of it.
    return read
  }
}

/** Prepares an operation in steps: at once when the body is short, else in slices. */
export function reading(
  { longPayloads }: Ngsi1Services,
  prepare: (asked: ApiRequest) => Steps<Result<Work, ApiResponse>>,
): Operation['prepare'] {
  return (asked) => (isLong(asked.body) ? longPayloads.read(prepare(asked)) : atOnce(prepare(asked)))
}

/** Does something for the tenant of a request, whose name is checked after the payload [context 1.5]. */
export function forTenant(
  { options }: Ngsi1Services,
  asked: ApiRequest,
  work: (tenant: Tenant) => ApiResponse | Promise<ApiResponse>,
): ApiResponse | Promise<ApiResponse> {
  const tenant = parseTenant(asked.headers, options.multiservice)
  return tenant.ok ? work(tenant.value) : tenant.error
}
