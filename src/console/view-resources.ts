import type { Resource } from '../api.js'
import type { ConsoleParts } from './console-parts.js'
import { subscriptionViews } from './subscription-views.js'

/** What the console shows of all that is stored, whatever its tenant, as resources of the management [console: data]. */
export function viewResources(parts: ConsoleParts): readonly Resource[] {
  return [...subscriptionViews(parts)]
}
