import { convenience } from './convenience-dimensions.js'
import type { Dimension } from './dimension.js'
import { discoveryDimensions } from './discovery-dimensions.js'
import { entityDimensions } from './entity-dimensions.js'
import { entityReads } from './entity-read-dimensions.js'
import { forwardingDimensions } from './forwarding-dimensions.js'
import { heads } from './head-dimensions.js'
import { management } from './management-dimensions.js'
import { heldExpressions, noticeDimensions } from './notice-dimensions.js'
import { operators } from './operator-dimensions.js'
import { pages } from './page-dimensions.js'
import { patterns } from './pattern-dimensions.js'
import { queryDimensions } from './query-dimensions.js'
import { registrationDimensions } from './registration-dimensions.js'
import { subscriptionDimensions } from './subscription-dimensions.js'
import { subscriptionTexts } from './subscription-text-dimensions.js'
import { updates } from './update-dimensions.js'
import { values } from './value-dimensions.js'

/** What is grown of operations on entities. A new way to make a request larger is one more row. */
export const entityOperations: readonly Dimension[] = [
  ...updates,
  ...values,
  ...operators,
  ...entityDimensions,
  ...entityReads,
  ...convenience,
]

/** What is grown of all others, and of what updates have to do for subscriptions. */
export const otherOperations: readonly Dimension[] = [
  ...patterns,
  ...queryDimensions,
  ...pages,
  ...subscriptionDimensions,
  ...subscriptionTexts,
  ...noticeDimensions,
  ...registrationDimensions,
  ...discoveryDimensions,
  ...forwardingDimensions,
  ...heads,
  ...management,
  ...heldExpressions,
]
