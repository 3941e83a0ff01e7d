import { err, ok } from '../result.js'
import type { Rate, RateLimits } from '../shared-memory/tenant-rates.js'
import type { ValueKind } from './flag.js'

const wrong =
  'is not a rate such as 500, 500:1000 or 500,tenantA=50:100 (per second, with a burst; - for the default tenant)'
/** More tenants than anybody writes on a command line. */
const mostTenants = 1000

/** Requests per second for every tenant, with a burst, and for single tenants: `500:1000,tenantA=50`; at least one of them. */
export const rateLimits: ValueKind<RateLimits> = {
  shown: 'n[:burst][,tenant=n[:burst]...]',
  parse: (given) => {
    let general: Rate | undefined
    const tenants = new Map<string, Rate>()
    for (const item of given.split(',').map((each) => each.trim())) {
      const [, name, perSecond, burst] = /^(?:(\w{1,50}|-)=)?([1-9]\d{0,6})(?::([1-9]\d{0,6}))?$/.exec(item) ?? []
      if (perSecond === undefined) return err(wrong)
      const rate = { perSecond: Number(perSecond), burst: Number(burst ?? perSecond) }
      const tenant = name === '-' ? '' : name?.toLowerCase()
      if (tenant === undefined ? general !== undefined : tenants.has(tenant)) return err(wrong)
      if (tenant === undefined) general = rate
      else tenants.set(tenant, rate)
    }
    if (tenants.size > mostTenants) return err(`has more than ${mostTenants} tenants`)
    return ok({ general, tenants: Object.fromEntries(tenants) })
  },
}
