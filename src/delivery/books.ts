import type { DeliveryStats, NoticeAck } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds } from '../time.js'
import { afterAttempt, afterDeparture, afterSimulation, merged, noAccount } from './accounts.js'
import type { Entry } from './entry.js'
import type { AttemptOutcome } from './outcome.js'
import type { Settling } from './settling.js'
import type { SourceNumber } from './source.js'

/** The accounts of one subscription, one per outbox. */
interface Book {
  readonly accounts: Map<SourceNumber, DeliveryStats>
  fails: number
  attempted: number
}

/** Where a notice is: its outbox and number, and when it was made. */
type Located = Pick<Entry, 'source' | 'number' | 'made'>

/** The accounts of all subscriptions: every change is handed on to be stored [subscriptions 5.7]. */
export class Books {
  readonly #books = new Map<SubscriptionId, Book>()
  readonly #settling: Settling

  constructor(settling: Settling) {
    this.#settling = settling
  }

  /** The account of a subscription in an outbox, as it was found there. */
  found(id: SubscriptionId, source: SourceNumber, account: DeliveryStats): void {
    const book = this.#bookOf(id)
    book.accounts.set(source, account)
    const { attempted = 0, fails } = account
    if (attempted > book.attempted) Object.assign(book, { attempted, fails })
  }

  /** Whether there is an account of a subscription in any outbox. */
  hasAny(id: SubscriptionId): boolean {
    return this.#books.has(id)
  }

  attempt(id: SubscriptionId, entry: Entry, outcome: AttemptOutcome, at: Milliseconds): void {
    const book = this.#bookOf(id)
    book.fails = outcome.kind === 'accepted' ? 0 : book.fails + 1
    book.attempted = Math.max(at, book.attempted + 1)
    const { number, source, tried } = entry
    const attempted = book.attempted as Milliseconds
    this.#change(id, source, (account) =>
      afterAttempt(account, { number, first: !tried, outcome, at, fails: book.fails, attempted }),
    )
    entry.tried = true
  }

  /** A notice leaves its outbox; `discarded` when a limit dropped it. */
  depart(id: SubscriptionId, { source, number, made }: Located, discarded: boolean): void {
    this.#change(id, source, (account) => afterDeparture(account, { number, made, discarded }), number)
  }

  simulate(id: SubscriptionId, { source, number, made }: Located): void {
    this.#change(id, source, (account) => afterSimulation(account, made), number)
  }

  /** The subscription has ended: its accounts leave the disk with these notices. */
  end(id: SubscriptionId, gone: Iterable<Pick<Located, 'source' | 'number'>>): void {
    const numbers = new Map<SourceNumber, number[]>()
    for (const source of this.#books.get(id)?.accounts.keys() ?? []) numbers.set(source, [])
    for (const { source, number } of gone) {
      const own = numbers.get(source)
      if (own === undefined) numbers.set(source, [number])
      else own.push(number)
    }
    this.#books.delete(id)
    for (const [source, own] of numbers) this.#settling.note(source, id, own)
  }

  /** What the accounts of all outboxes say together. */
  merged(id: SubscriptionId): ReturnType<typeof merged> {
    return merged([...(this.#books.get(id)?.accounts.values() ?? [])])
  }

  /** The account to be stored; nothing when the subscription has ended. */
  accountOf(id: SubscriptionId, source: SourceNumber): NoticeAck['account'] {
    return this.#books.get(id)?.accounts.get(source)
  }

  #change(
    id: SubscriptionId,
    source: SourceNumber,
    change: (account: DeliveryStats) => DeliveryStats,
    gone?: number,
  ): void {
    const { accounts } = this.#bookOf(id)
    accounts.set(source, change(accounts.get(source) ?? noAccount))
    this.#settling.note(source, id, gone === undefined ? [] : [gone])
  }

  #bookOf(id: SubscriptionId): Book {
    let book = this.#books.get(id)
    if (book === undefined) {
      book = { accounts: new Map(), fails: 0, attempted: 0 }
      this.#books.set(id, book)
    }
    return book
  }
}
