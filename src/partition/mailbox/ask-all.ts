import { err, ok, type Result } from '../../result.js'
import { mapInSlices } from '../../slices.js'
import type { Command } from '../turn/commands.js'
import type { LostBatch, MailboxRefusal, Posted } from './batch.js'
import type { BoundedMailbox } from './bounded-mailbox.js'

export interface Addressed {
  readonly mailbox: BoundedMailbox
  readonly command: Command
}

/**
 * The commands of one request that are put into a mailbox at a time. The next ones follow when those before are being carried
 * out, so that commands of other requests come in between.
 */
const sliceSize = 256

type Outcome = Result<Posted, LostBatch>

const lost: Outcome = err({ kind: 'partitionLost' })

/**
 * Puts all commands of a request into their mailboxes; gives the outcomes in order. Room for all of them is reserved first: when
 * a mailbox lacks room or a partition is gone, nothing is put in anywhere. When a command fails, those not yet put in are dropped:
 * they were not carried out, for the same reason.
 */
export async function askAll(addressed: readonly Addressed[]): Promise<Result<readonly Outcome[], MailboxRefusal>> {
  const shares = sharesOf(addressed)
  const refusal = reserveAll(shares)
  if (refusal) return err(refusal)
  const request = new Request(addressed)
  await Promise.all(Array.from(shares, ([mailbox, share]) => request.send(mailbox, share)))
  return ok(await request.outcomes())
}

/** The commands of each mailbox, by their positions in the request. */
function sharesOf(addressed: readonly Addressed[]): ReadonlyMap<BoundedMailbox, readonly number[]> {
  const shares = new Map<BoundedMailbox, number[]>()
  for (const [at, { mailbox }] of addressed.entries()) {
    const share = shares.get(mailbox)
    if (share) share.push(at)
    else shares.set(mailbox, [at])
  }
  return shares
}

function reserveAll(shares: ReadonlyMap<BoundedMailbox, readonly number[]>): MailboxRefusal | undefined {
  const reserved: BoundedMailbox[] = []
  for (const [mailbox, { length }] of shares) {
    const refusal = mailbox.reserve(length)
    if (refusal) {
      for (const other of reserved) other.release(shares.get(other)?.length ?? 0)
      return refusal
    }
    reserved.push(mailbox)
  }
  return undefined
}

/** The commands of one request under way. */
class Request {
  readonly #addressed: readonly Addressed[]
  readonly #outcomes: (Outcome | undefined)[]
  #failure: Outcome | undefined

  constructor(addressed: readonly Addressed[]) {
    this.#addressed = addressed
    this.#outcomes = addressed.map(() => undefined)
  }

  /** The outcomes of all commands, in order, once all have one. */
  outcomes(): readonly Outcome[] | Promise<readonly Outcome[]> {
    return mapInSlices(this.#addressed, (_, at) => {
      const result = this.#outcomes[at] ?? this.#unsent
      if (result === undefined) throw new Error('a command of a request has no outcome')
      return result
    })
  }

  /** The outcome of commands that were not put in. */
  get #unsent(): Outcome | undefined {
    const failure = this.#failure
    return failure?.ok === false && failure.error.kind === 'outcomeUnknown' ? lost : failure
  }

  /** Sends a mailbox its share, with at most two slices under way. */
  async send(mailbox: BoundedMailbox, share: readonly number[]): Promise<void> {
    let sent = 0
    let before: Promise<unknown> = Promise.resolve()
    try {
      while (sent < share.length && this.#failure === undefined) {
        const slice = share.slice(sent, sent + sliceSize)
        sent += slice.length
        const outcomes = Promise.all(slice.map((at) => this.#put(at)))
        outcomes.catch(() => {}) // It is awaited below, unless the slice before it has failed.
        await Promise.all([before, sent < share.length ? undefined : outcomes])
        before = outcomes
      }
    } finally {
      if (sent < share.length) mailbox.release(share.length - sent)
    }
    await before
  }

  #put(at: number): Promise<void> {
    const addressed = this.#addressed[at]
    if (addressed === undefined) throw new Error('a request has no such command')
    return addressed.mailbox.put(addressed.command).then((result) => {
      this.#outcomes[at] = result
      if (!result.ok || result.value.reply.kind === 'failed') this.#failure ??= result
    })
  }
}
