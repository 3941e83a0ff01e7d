import type { Tenant } from '../context/entity.js'
import type { Broker } from '../coordinator/broker.js'
import type { Answer, Asked } from '../exchange.js'
import type { Options } from '../options.js'
import { parseTenant } from './tenant.js'

/** What the operations of NGSIv1 work with. */
export interface Environment {
  readonly broker: Broker
  readonly options: Pick<Options, 'multiservice' | 'strictNgsiv1Ids' | 'ngsiv1Autocast'>
}

/** Does something for the tenant of a request, whose name is checked after the payload [context 1.5]. */
export function forTenant(
  { options }: Environment,
  asked: Asked,
  work: (tenant: Tenant) => Answer | Promise<Answer>,
): Answer | Promise<Answer> {
  const tenant = parseTenant(asked.headers, options.multiservice)
  return tenant.ok ? work(tenant.value) : tenant.refusal
}
