import type { Broker } from '../broker/broker.js'
import type { Options } from '../options.js'

/** What the operations of NGSIv2 work with. */
export interface Ngsi2Services {
  readonly broker: Broker
  readonly options: Pick<Options, 'multiservice'>
}
