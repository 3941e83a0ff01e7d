import type { LogName } from '../cluster/engine.js'
import type { PinnedFile } from '../partition/store.js'
import type { LogSequence } from '../wal/record-log.js'

/** A commit of an environment that is kept while its file is copied. */
export interface KeptCopy {
  readonly file: PinnedFile
  /** The last record of its log that it has applied. */
  readonly applied: LogSequence
}

/** Who keeps commits of what follows logs for other nodes of the cluster, one for each log at a time. */
export interface CopyService {
  /** Keeps the last commit; nothing when it is being copied, nobody follows the log here now, or the file cannot be read. */
  beginCopy(log: LogName): Promise<KeptCopy | undefined>
  /** Lets go of it; says whether it was kept until now. */
  endCopy(log: LogName): Promise<boolean>
}

/** The operations of the service, for callers behind a port. */
export const copyOperations = { beginCopy: 'asked', endCopy: 'asked' } as const
