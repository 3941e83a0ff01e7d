import type { Broker } from '../broker/broker.js'
import type { DeprecatedUses } from '../measure/deprecated-uses.js'
import type { Options } from '../options.js'
import type { LongPayloads } from '../slices.js'

/** What the operations of NGSIv2 work with. */
export interface Ngsi2Services {
  readonly broker: Broker
  readonly options: Pick<Options, 'multiservice'>
  /** Names the broker to others; without it nobody knows it again in a `Via`. */
  readonly brokerId?: string
  readonly longPayloads: LongPayloads
  readonly deprecated: Pick<DeprecatedUses, 'note'>
}
