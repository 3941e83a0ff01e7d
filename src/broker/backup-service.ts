import type { PinnedFile } from '../partition/store.js'
import type { Result } from '../result.js'
import type { Milliseconds } from '../time.js'

/** The data of the broker at one moment: what was answered before it, and nothing that was sent after it. */
export interface BackupPoint {
  /** Names the backup to the service. */
  readonly number: number
  /** Id and format of the data folder. */
  readonly folder: string
  readonly format: number
  readonly time: Milliseconds
  /** In the order of the partitions' numbers. */
  readonly partitions: readonly PinnedFile[]
  readonly control: PinnedFile
}

/** Why there is no backup now. */
export interface BackupRefusal {
  readonly kind: 'underWay' | 'notConfirmed' | 'notTogether' | 'unreadable'
}

/** Who keeps the data of one moment while it is copied: for one backup at a time, and for one that gets on. */
export interface BackupService {
  /** Begins a backup. It has to get on: without a word of it for some seconds its moment is given up. */
  begin(): Promise<Result<BackupPoint, BackupRefusal>>
  /** The backup gets on; says whether its moment is still kept. */
  goOn(backup: number, bytes: number): Promise<boolean>
  /** Everything is copied, or nothing more will be; says whether the moment was kept until now. */
  end(backup: number, bytes: number, why: 'copied' | 'givenUp'): Promise<boolean>
}

/** The operations of the service, for callers behind a port. */
export const backupOperations = { begin: 'asked', goOn: 'asked', end: 'asked' } as const
