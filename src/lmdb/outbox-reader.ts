import type { Account, Notice, NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { type Environment, type EnvironmentSettings, openEnvironment } from './environment.js'
import { accountsOf, lastNumber, type NumberedNotice, noticeAt, noticesAfter } from './outbox.js'

/** Reads the outbox of an environment from snapshots, in another thread than that of its owner, who alone writes it. */
export class OutboxReader {
  readonly #environment: Environment

  constructor(path: string, settings: Omit<EnvironmentSettings, 'readOnly'>) {
    this.#environment = openEnvironment(path, { ...settings, readOnly: true })
  }

  /** From now on reads see everything that is on disk now. */
  refresh(): void {
    this.#environment.root.resetReadTxn()
  }

  /** The number of the last notice that was ever put in. */
  last(): NoticeNumber {
    return lastNumber(this.#environment)
  }

  /** The notices after a number, in order, at most so many. */
  after(number: NoticeNumber, limit: number): readonly NumberedNotice[] {
    return noticesAfter(this.#environment, number, limit)
  }

  /** The notice of a number, if it is there. */
  at(number: NoticeNumber): Notice | undefined {
    return noticeAt(this.#environment, number)
  }

  accounts(): Iterable<readonly [SubscriptionId, Account]> {
    return accountsOf(this.#environment)
  }

  async close(): Promise<void> {
    await this.#environment.root.close()
  }
}
