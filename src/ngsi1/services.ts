import type { Broker } from '../broker/broker.js'
import type { Log } from '../log/log.js'
import type { Options } from '../options.js'
import type { Providers } from '../providers/providers.js'
import type { ForwardLimit } from '../shared-memory/forward-limit.js'
import type { LongPayloads } from '../slices.js'

/** How requests for what is not held here are passed on [subscriptions 8]. */
export interface Forwarding {
  readonly providers: Pick<Providers, 'ask' | 'responseBudget'>
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
