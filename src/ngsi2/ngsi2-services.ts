import type { DeprecatedUses } from '../measure/deprecated-uses.js'
import type { NotificationOptions, Options } from '../options.js'
import type { ForwardingServices } from '../providers/forwarder.js'
import type { LongPayloads } from '../slices.js'

/** What the operations of NGSIv2 work with. */
export interface Ngsi2Services extends ForwardingServices {
  readonly options: Pick<Options, 'multiservice' | 'queryTimeout_ms'> & {
    /** Without it no template is too long. */
    readonly notifications?: Pick<NotificationOptions, 'maxSize'>
  }
  /** Names the broker to others; without it nobody knows it again in a `Via`. */
  readonly brokerId?: string
  readonly longPayloads: LongPayloads
  readonly deprecated: Pick<DeprecatedUses, 'note'>
}
