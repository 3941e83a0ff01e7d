import type { Resource } from '../api/api.js'
import { alarmViews } from './alarm-views.js'
import { censusViews } from './census-views.js'
import type { ConsoleParts } from './console-parts.js'
import { entityViews } from './entity-views.js'
import { receiverViews } from './receiver-views.js'
import { registrationViews } from './registration-views.js'
import { subscriptionViews } from './subscription-views.js'

/** What the console shows of all that is stored, whatever its tenant, as resources of the management [console: data]. */
export function viewResources(parts: ConsoleParts): readonly Resource[] {
  return [
    ...subscriptionViews(parts),
    ...registrationViews(parts),
    ...receiverViews(parts),
    ...alarmViews(parts),
    ...censusViews(parts),
    ...entityViews(parts),
  ]
}
