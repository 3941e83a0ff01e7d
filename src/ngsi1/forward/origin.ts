import type { ApiRequest } from '../../api.js'
import type { Origin } from '../../context/update.js'
import { endsHere } from '../../hops.js'
import type { Ngsi1Services } from '../services.js'

/** What the notifications that a request causes tell of it [subscriptions 4.1]. */
export function originOf(
  { forwarding }: Pick<Ngsi1Services, 'forwarding'>,
  { correlator, headers }: Pick<ApiRequest, 'correlator' | 'headers'>,
): Origin {
  const { 'x-auth-token': given, via } = headers
  const token = typeof given === 'string' ? given : ''
  const ends = via !== undefined && endsHere(via, forwarding?.brokerId ?? '')
  return { correlator, token, via: ends ? undefined : via, ends: ends ? true : undefined }
}
