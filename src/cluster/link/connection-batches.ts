import { setTimeout as sleep } from 'node:timers/promises'
import { err, ok, type Result } from '../../result.js'
import type { FencingToken } from '../../threads/shared-memory/partition-position.js'
import type { BatchSender, SenderTable } from '../../threads/shared-memory/sender-table.js'

/** The sender of a connection's batches, and which of its connections this is. */
export interface PartitionSender extends BatchSender {
  readonly generation: number
}

/** Why a connection takes no batches, now and later. */
export type ConnectionRefusal =
  /** The sender has opened a later connection, of this generation. */
  | { readonly kind: 'overtaken'; readonly last: number }
  /** This node stopped being the owner of the partition. */
  | { readonly kind: 'notOwner' }
  /** A request that no node sends. */
  | { readonly kind: 'misused'; readonly what: string }

/** The state of a connection with batches, at its receiver. */
export type ConnectionState =
  | { readonly kind: 'new' }
  /** Waits until nothing of the sender's earlier connections is under way. */
  | { readonly kind: 'entered'; readonly sender: PartitionSender }
  | { readonly kind: 'open'; readonly sender: PartitionSender; readonly fencingToken: FencingToken }
  | { readonly kind: 'refuses'; readonly refusal: ConnectionRefusal }

export type ConnectionEvent =
  | { readonly kind: 'opening'; readonly sender: PartitionSender }
  /** Nothing of the sender's earlier connections is under way, and this is the fencing token of the partition. */
  | { readonly kind: 'quiet'; readonly fencingToken: FencingToken }
  | { readonly kind: 'batch'; readonly sender: PartitionSender }
  /** The sender has opened a later connection. */
  | { readonly kind: 'overtaken'; readonly last: number }
  /** A request that cannot be parsed. */
  | { readonly kind: 'malformed'; readonly what: string }
  /** A command had the outcome `notOwner`. */
  | { readonly kind: 'unowned' }

export type ConnectionEffect =
  /** The response to `opening` waits for `quiet`. */
  | { readonly kind: 'wait' }
  /** Answers `opening`: what the sender has sent earlier has been carried out or never will be. */
  | { readonly kind: 'opened'; readonly epoch: number }
  /** Puts the batch into its mailbox, bound to this fencing token. */
  | { readonly kind: 'take'; readonly fencingToken: FencingToken }
  | { readonly kind: 'refuse'; readonly refusal: ConnectionRefusal }

/**
 * One step of the receiver's side of a connection. All batches have one sender and one partition. They are taken between the opening
 * and the first refusal; after that the connection refuses everything: the sender sends a refused batch and those behind it again, in
 * order, on another connection, so the later ones must not be carried out first.
 *
 * | state   | event              | next    | effect |
 * |---------|--------------------|---------|--------|
 * | new     | opening            | entered | wait   |
 * | entered | quiet              | open    | opened |
 * | open    | batch, same sender | open    | take   |
 * | entered, open | overtaken    | refuses | refuse |
 * | open    | unowned            | refuses |        |
 * | refuses | any                | refuses | refuse, as before |
 * | any     | malformed          | refuses | refuse: misused |
 * | else    | opening, batch     | refuses | refuse: misused |
 */
function connectionStep(state: ConnectionState, event: ConnectionEvent): readonly [ConnectionState, ConnectionEffect] {
  if (state.kind === 'refuses') return refusing(state.refusal)
  switch (event.kind) {
    case 'opening':
      if (state.kind === 'new') return [{ kind: 'entered', sender: event.sender }, { kind: 'wait' }]
      return misused('the connection is opened already')
    case 'quiet': {
      if (state.kind !== 'entered') return misused('the connection does not wait')
      const { fencingToken } = event
      return [
        { kind: 'open', sender: state.sender, fencingToken },
        { kind: 'opened', epoch: fencingToken.epoch },
      ]
    }
    case 'batch':
      if (state.kind !== 'open') return misused('the connection is not opened')
      if (!isSame(state.sender, event.sender)) return misused('the connection has batches of another sender')
      return [state, { kind: 'take', fencingToken: state.fencingToken }]
    case 'overtaken':
      return refusing({ kind: 'overtaken', last: event.last })
    case 'malformed':
      return misused(event.what)
    case 'unowned':
      return refusing({ kind: 'notOwner' })
  }
}

function refusing(refusal: ConnectionRefusal): readonly [ConnectionState, ConnectionEffect] {
  return [
    { kind: 'refuses', refusal },
    { kind: 'refuse', refusal },
  ]
}

function misused(what: string): readonly [ConnectionState, ConnectionEffect] {
  return refusing({ kind: 'misused', what })
}

function isSame(one: PartitionSender, other: PartitionSender): boolean {
  return (
    one.partition === other.partition &&
    one.slot === other.slot &&
    one.frontEnd === other.frontEnd &&
    one.generation === other.generation
  )
}

/** How often an opening checks whether earlier connections of the sender have ended. */
const look_ms = 2

/** The batches of one connection at their receiver, by `connectionStep`. */
export class ConnectionBatches {
  readonly #senders: SenderTable
  readonly #fencingTokenOf: (partition: number) => FencingToken
  #state: ConnectionState = { kind: 'new' }

  /** `fencingTokenOf` gives the current fencing token of a partition. */
  constructor(senders: SenderTable, fencingTokenOf: (partition: number) => FencingToken) {
    this.#senders = senders
    this.#fencingTokenOf = fencingTokenOf
  }

  /** Opens the connection: resolves with the epoch when nothing that its sender has sent earlier can be carried out any more. */
  async open(sender: PartitionSender): Promise<Result<number, ConnectionRefusal>> {
    let opened = this.enter(sender)
    for (; opened === undefined; opened = this.look(sender)) await sleep(look_ms)
    return opened
  }

  /** The response to an opening; undefined while it has to wait for `look`. */
  enter(sender: PartitionSender): Result<number, ConnectionRefusal> | undefined {
    const effect = this.#step({ kind: 'opening', sender })
    return effect.kind === 'wait' ? this.look(sender) : err(refusalOf(effect))
  }

  look(sender: PartitionSender): Result<number, ConnectionRefusal> | undefined {
    const last = this.#senders.enter(sender, sender.generation)
    if (last !== undefined) return err(refusalOf(this.#step({ kind: 'overtaken', last })))
    if (!this.#senders.isQuiet(sender)) return undefined
    const effect = this.#step({ kind: 'quiet', fencingToken: this.#fencingTokenOf(sender.partition) })
    return effect.kind === 'opened' ? ok(effect.epoch) : err(refusalOf(effect))
  }

  /** The fencing token that a batch is bound to on its way into the mailbox, or a refusal. After ok, call `end`. */
  begin(sender: PartitionSender): Result<FencingToken, ConnectionRefusal> {
    const effect = this.#step({ kind: 'batch', sender })
    if (effect.kind !== 'take') return err(refusalOf(effect))
    if (this.#senders.begin(sender, sender.generation)) return ok(effect.fencingToken)
    const last = this.#senders.enter(sender, sender.generation)
    return err(refusalOf(this.#step({ kind: 'overtaken', last: last ?? sender.generation })))
  }

  /** Refuses a request that cannot be parsed, and everything behind it. */
  malformed(what: string): ConnectionRefusal {
    return refusalOf(this.#step({ kind: 'malformed', what }))
  }

  /** A batch had the outcome `notOwner`. Call this before anybody learns of that outcome. */
  unowned(): void {
    this.#step({ kind: 'unowned' })
  }

  /** All commands of a batch have their outcomes. */
  end(sender: PartitionSender): void {
    this.#senders.end(sender)
  }

  #step(event: ConnectionEvent): ConnectionEffect {
    const [state, effect] = connectionStep(this.#state, event)
    this.#state = state
    return effect
  }
}

function refusalOf(effect: ConnectionEffect): ConnectionRefusal {
  if (effect.kind === 'refuse') return effect.refusal
  throw new Error(`a connection does ${effect.kind} where it was to refuse`)
}
