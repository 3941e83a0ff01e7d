import type { Options } from '../options.js'
import type { ForwardingServices } from '../providers/forwarder.js'
import type { LongPayloads } from '../slices.js'

/** What the operations of NGSIv1 work with. */
export interface Ngsi1Services extends ForwardingServices {
  readonly options: Pick<Options, 'multiservice' | 'strictNgsiv1Ids' | 'ngsiv1Autocast' | 'queryTimeout_ms'>
  readonly longPayloads: LongPayloads
}
