import type { BackupService } from '../broker/backup-service.js'
import type { Broker } from '../broker/broker.js'
import type { RegistryService } from '../broker/registry-service.js'
import type { ClusterService } from '../cluster/cluster-status.js'
import type { Log } from '../log/log.js'
import type { Measures } from '../measure/measures.js'
import type { RegistrationIndex } from '../registration/registration-index.js'
import type { ProcessPeers } from './shared-answers.js'

/** What the management interface of one front end works on. */
export interface ManagementParts {
  readonly measures: Measures
  readonly log: Log
  readonly broker: Pick<Broker, 'health' | 'subscriptions'> & {
    readonly registry: { readonly states: RegistryService['states']; readonly index: Pick<RegistrationIndex, 'size'> }
  }
  /** How many read handles a partition has left to lend. */
  readonly freeHandles: (partition: number) => number
  /** Nothing for a broker that is of none. */
  readonly cluster: ClusterService | undefined
  /** Of one of several nodes: the last record of the log that each partition shows here. */
  readonly applied: readonly (() => number)[]
  readonly peers: ProcessPeers
  readonly backups: BackupService
  /** A folder on the disk of the data, and how much of that is to stay free. */
  readonly disk: { readonly path: string; readonly keepFree_bytes: number }
}
