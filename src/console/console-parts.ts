import type { Broker } from '../broker/broker.js'
import type { Log } from '../log/log.js'
import type { ProcessPeers } from '../management/shared-answers.js'
import type { RegistrationIndex } from '../registration/registration-index.js'
import type { Matcher } from '../subscription/matcher.js'

/** What the resources of the console read, in one front end [console: data]. */
export interface ConsoleParts {
  readonly broker: Pick<Broker, 'entities' | 'subscriptions' | 'view'> & {
    readonly registry: { readonly index: RegistrationIndex }
  }
  readonly peers: ProcessPeers
  readonly log: Log
  /** A matcher without subscriptions, like those of the partitions. */
  readonly newMatcher: () => Matcher
  /** Notices that may wait for one subscription. */
  readonly queueMax: number
}
