import type { LogName } from '../../storage/etcd/engine.js'
import type { PinnedCommit, PinPurpose } from '../../storage/records/store.js'
import type { SnapshotTransferService } from '../front-end/services.js'

/** The pins of an environment, whichever thread has it. */
export interface FarPins {
  /** Nothing when the file cannot be read, or the thread is gone. */
  pin(purpose: PinPurpose): Promise<PinnedCommit | undefined>
  unpin(purpose: PinPurpose): Promise<boolean>
}

/** Keeps commits of what follows logs here, while their files are sent to other nodes. */
export class SnapshotTransfers implements SnapshotTransferService {
  readonly #pinsOf: (log: LogName) => FarPins | undefined
  /** By the log: who has kept a commit has to let go of it, whatever thread follows the log then. */
  readonly #begun = new Map<LogName, FarPins>()

  /** `pinsOf` gives nothing for a log that nobody follows here now. */
  constructor(pinsOf: (log: LogName) => FarPins | undefined) {
    this.#pinsOf = pinsOf
  }

  async beginTransfer(log: LogName): Promise<PinnedCommit | undefined> {
    const pins = this.#pinsOf(log)
    if (pins === undefined || this.#begun.has(log)) return undefined
    this.#begun.set(log, pins)
    let commit: PinnedCommit | undefined
    try {
      commit = await pins.pin('transfer')
    } finally {
      if (commit === undefined) this.#begun.delete(log)
    }
    return commit
  }

  async endTransfer(log: LogName): Promise<boolean> {
    const wasPinned = (await this.#begun.get(log)?.unpin('transfer')) ?? false
    this.#begun.delete(log)
    return wasPinned
  }
}
