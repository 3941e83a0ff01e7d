import type { Origin } from '../context/update.js'
import type { Asked } from '../exchange.js'

/** What the notifications that a request causes tell of it [subscriptions 4.1]. */
export function originOf({ correlator, headers }: Pick<Asked, 'correlator' | 'headers'>): Origin {
  const token = headers['x-auth-token']
  return { correlator, token: typeof token === 'string' ? token : '' }
}
