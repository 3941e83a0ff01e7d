import { setTimeout as sleep } from 'node:timers/promises'
import { err, ok, type Result } from '../../result.js'
import type { Tenure } from '../../threads/shared-memory/partition-position.js'
import type { BatchSender, SenderTable } from '../../threads/shared-memory/sender-table.js'

/** Where the batches of one connection come from: a sender, and which of its connections it is. */
export interface BatchSource extends BatchSender {
  readonly generation: number
}

/** Why a connection takes no batches, which holds for all that follow on it. */
export type ConnectionRefusal =
  /** The sender has opened a later connection, of that generation. */
  | { readonly kind: 'overtaken'; readonly last: number }
  /** This node was not the owner of the partition any more. */
  | { readonly kind: 'notOwner' }
  /** No node sends this. */
  | { readonly kind: 'misused'; readonly what: string }

/** The receiver's side of a connection with batches. */
export type ConnectionState =
  | { readonly kind: 'new' }
  /** Waits until nothing of earlier connections of the sender is under way. */
  | { readonly kind: 'entered'; readonly source: BatchSource }
  | { readonly kind: 'open'; readonly source: BatchSource; readonly tenure: Tenure }
  | { readonly kind: 'refuses'; readonly refusal: ConnectionRefusal }

export type ConnectionEvent =
  | { readonly kind: 'opening'; readonly source: BatchSource }
  /** Nothing of earlier connections of the sender is under way: the partition is in that tenure. */
  | { readonly kind: 'quiet'; readonly tenure: Tenure }
  | { readonly kind: 'batch'; readonly source: BatchSource }
  /** A later connection of the sender is known. */
  | { readonly kind: 'overtaken'; readonly last: number }
  /** A request that cannot be read. */
  | { readonly kind: 'malformed'; readonly what: string }
  /** A command had the outcome that this node is not the owner. */
  | { readonly kind: 'unowned' }

/** What a request on the connection gets. */
export type ConnectionEffect =
  /** The answer to `opening` is to wait until it is quiet. */
  | { readonly kind: 'wait' }
  /** `opening` is answered: what the sender has sent before is carried out, or never will be. */
  | { readonly kind: 'opened'; readonly epoch: number }
  /** The batch is put into its mailbox, bound to that tenure. */
  | { readonly kind: 'take'; readonly tenure: Tenure }
  | { readonly kind: 'refuse'; readonly refusal: ConnectionRefusal }

/**
 * One step of the receiver's side of a connection. Batches are of one sender and for one partition. They are taken between the
 * opening and the first refusal, after which the connection refuses everything: what stands behind a refused batch is sent again
 * behind it, by another connection, and must not be carried out before.
 *
 * | state   | event              | next    | effect |
 * |---------|--------------------|---------|--------|
 * | new     | opening            | entered | wait   |
 * | entered | quiet              | open    | opened |
 * | open    | batch, same source | open    | take   |
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
      if (state.kind === 'new') return [{ kind: 'entered', source: event.source }, { kind: 'wait' }]
      return misused('the connection is opened already')
    case 'quiet': {
      if (state.kind !== 'entered') return misused('the connection does not wait')
      const { tenure } = event
      return [
        { kind: 'open', source: state.source, tenure },
        { kind: 'opened', epoch: tenure.epoch },
      ]
    }
    case 'batch':
      if (state.kind !== 'open') return misused('the connection is not opened')
      if (!isSame(state.source, event.source)) return misused('the connection has batches of another sender')
      return [state, { kind: 'take', tenure: state.tenure }]
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

function isSame(one: BatchSource, other: BatchSource): boolean {
  return (
    one.partition === other.partition &&
    one.slot === other.slot &&
    one.frontEnd === other.frontEnd &&
    one.generation === other.generation
  )
}

/** How often it is looked whether an earlier connection of the same sender is over. */
const look_ms = 2

/** The batches of one connection at their receiver: carries out what `connectionStep` says. */
export class ConnectionBatches {
  readonly #senders: SenderTable
  readonly #tenureOf: (partition: number) => Tenure
  #state: ConnectionState = { kind: 'new' }

  /** `tenureOf` gives the tenure that a partition is in now. */
  constructor(senders: SenderTable, tenureOf: (partition: number) => Tenure) {
    this.#senders = senders
    this.#tenureOf = tenureOf
  }

  /** Opens the connection; resolves when nothing that its sender has sent before is carried out any more. Gives the epoch. */
  async open(source: BatchSource): Promise<Result<number, ConnectionRefusal>> {
    let opened = this.enter(source)
    for (; opened === undefined; opened = this.look(source)) await sleep(look_ms)
    return opened
  }

  /** What becomes of an opening; nothing while it has to wait, until `look` gives it. */
  enter(source: BatchSource): Result<number, ConnectionRefusal> | undefined {
    const effect = this.#step({ kind: 'opening', source })
    return effect.kind === 'wait' ? this.look(source) : err(refusalOf(effect))
  }

  look(source: BatchSource): Result<number, ConnectionRefusal> | undefined {
    const last = this.#senders.enter(source, source.generation)
    if (last !== undefined) return err(refusalOf(this.#step({ kind: 'overtaken', last })))
    if (!this.#senders.isQuiet(source)) return undefined
    const effect = this.#step({ kind: 'quiet', tenure: this.#tenureOf(source.partition) })
    return effect.kind === 'opened' ? ok(effect.epoch) : err(refusalOf(effect))
  }

  /** Whether a batch is to be put into its mailbox, with the tenure that it is bound to. Then `end` is to be called. */
  begin(source: BatchSource): Result<Tenure, ConnectionRefusal> {
    const effect = this.#step({ kind: 'batch', source })
    if (effect.kind !== 'take') return err(refusalOf(effect))
    if (this.#senders.begin(source, source.generation)) return ok(effect.tenure)
    const last = this.#senders.enter(source, source.generation)
    return err(refusalOf(this.#step({ kind: 'overtaken', last: last ?? source.generation })))
  }

  /** A request cannot be read; gives what it is refused with. */
  malformed(what: string): ConnectionRefusal {
    return refusalOf(this.#step({ kind: 'malformed', what }))
  }

  /** An outcome of a batch is that this node is not the owner. To be called before anybody is told of it. */
  unowned(): void {
    this.#step({ kind: 'unowned' })
  }

  /** All commands of a batch have their outcomes. */
  end(source: BatchSource): void {
    this.#senders.end(source)
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
