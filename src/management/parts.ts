import type { Broker } from '../coordinator/broker.js'
import type { Log } from '../log/log.js'
import type { Measures } from '../measure/measures.js'
import type { Nanoseconds } from '../time.js'
import type { Siblings } from './siblings.js'

/** What the management interface of one front end works on. */
export interface ManagementParts {
  readonly measures: Measures
  readonly log: Log
  readonly broker: Pick<Broker, 'health' | 'subscriptions'>
  /** How many read handles a partition has left to lend. */
  readonly freeHandles: (partition: number) => number
  readonly siblings: Siblings
  readonly notificationQueue: NotificationQueueState
}

/** The queue of notifications over all subscriptions [management 4.5]. */
export interface NotificationQueueState {
  read(): NotificationQueueReading
  /** Everything but the size counts from zero. */
  reset(): void
}

export interface NotificationQueueReading {
  readonly in: number
  readonly out: number
  readonly reject: number
  readonly sentOk: number
  readonly sentError: number
  readonly timeInQueue: Nanoseconds
  readonly size: number
}

/** The queue of a broker without notifications. */
export const emptyNotificationQueue: NotificationQueueState = {
  read: () => ({ in: 0, out: 0, reject: 0, sentOk: 0, sentError: 0, timeInQueue: 0n, size: 0 }),
  reset: () => undefined,
}
