import type { Log } from '../log/log.js'
import type { MailboxRefusal, Posted } from '../mailbox/mailbox.js'
import type { Command, FailedReply } from '../partition/commands.js'
import { err, ok } from '../result.js'
import type { Tenure } from '../shared-memory/partition-position.js'
import type { BatchRoute, CommandOutcome, SentOutcome } from './batch-route.js'
import { commandsBody, parseOutcomesBody } from './command-batch.js'
import { batchesPipelined, batchMost_bytes, linkHeaders, parseEpoch, parseLast, parseOwner } from './link-protocol.js'
import type { LinkResponse, NodeConnection } from './node-connection.js'
import { RemoteClock } from './remote-clock.js'

export interface NodeRouteParts {
  readonly partition: number
  /** Only this route uses it. */
  readonly connection: NodeConnection
  readonly log: Log
  /** Another node knows of a connection of this sender with that generation. */
  readonly overtaken: (generation: number) => void
}

const nothing = Buffer.from('{}')

/**
 * The way to a partition on another node: a connection of its own, on which batches are pipelined. The first answer on it says
 * what the clock of the other node shows, by which batches say how long they are waited for.
 */
export class NodeRoute implements BatchRoute {
  readonly batchesMost = batchesPipelined
  readonly opened: BatchRoute['opened']
  readonly #parts: NodeRouteParts
  /** A refusal was logged: those that follow on the connection say the same. */
  #isRefused = false
  readonly #clock = new RemoteClock()

  constructor(parts: NodeRouteParts) {
    this.#parts = parts
    this.opened = this.#open()
  }

  async send(commands: readonly Command[], until_ms: number): Promise<readonly SentOutcome[]> {
    const body = commandsBody(commands)
    if (body.length > batchMost_bytes) return this.#inHalves(commands, until_ms)
    const until = this.#clock.at(until_ms)
    if (until === undefined) throw new Error('a batch is sent by a way that is not opened')
    const { connection, partition } = this.#parts
    const response = await connection.ask({ kind: 'batches', partition }, body, [linkHeaders.until, String(until)])
    return this.#outcomes(commands.length, this.#heard(response))
  }

  close(): void {
    this.#parts.connection.close()
  }

  async #open(): BatchRoute['opened'] {
    const { connection, partition } = this.#parts
    const response = this.#heard(await connection.ask({ kind: 'opening', partition }, nothing))
    if (response.kind !== 'answered') return err({ kind: 'unsent' })
    const epoch = response.status === 200 ? parseEpoch(response.bytes.toString()) : undefined
    if (epoch !== undefined && this.#clock.isKnown) return ok({ epoch })
    this.#refused(response)
    return err({ kind: 'refused' })
  }

  #heard(response: LinkResponse): LinkResponse {
    const { status, clock_ms } = response.kind === 'answered' ? response : { status: 0, clock_ms: undefined }
    if (status === 200 && clock_ms !== undefined) this.#clock.heard(clock_ms)
    return response
  }

  async #inHalves(commands: readonly Command[], until_ms: number): Promise<readonly SentOutcome[]> {
    if (commands.length === 1) return [failed('recordTooLarge')]
    const half = commands.length / 2
    const sent = [this.send(commands.slice(0, half), until_ms), this.send(commands.slice(half), until_ms)]
    return (await Promise.all(sent)).flat()
  }

  #outcomes(commands: number, response: LinkResponse): readonly SentOutcome[] {
    const all = (outcome: SentOutcome): readonly SentOutcome[] => Array.from({ length: commands }, () => outcome)
    if (response.kind !== 'answered') {
      return all(err({ kind: response.kind === 'broken' ? 'unanswered' : 'unsent' }))
    }
    const { status, bytes } = response
    switch (status) {
      case 200: {
        const outcomes = parseOutcomesBody(bytes, commands)
        if (outcomes.ok) return outcomes.value
        this.#said(`its answer cannot be read: ${outcomes.error.what}`)
        this.#parts.connection.close()
        return all(err({ kind: 'unanswered' }))
      }
      case 421:
        return all(err({ kind: 'notOwner', owner: parseOwner(bytes.toString()) }))
      case 503:
        return all(err({ kind: 'mailboxFull' }))
      case 413:
        return all(failed('recordTooLarge'))
      default:
        this.#refused(response)
        return all(err({ kind: 'refused' }))
    }
  }

  #refused({ status, bytes }: Extract<LinkResponse, { kind: 'answered' }>): void {
    if (status === 409) this.#parts.overtaken(parseLast(bytes.toString()) ?? 0)
    if (!this.#isRefused) this.#said(`it answers ${status}: ${bytes.toString('utf8', 0, 500)}`)
    this.#isRefused = true
  }

  #said(what: string): void {
    const { log, partition } = this.#parts
    log.warn('cluster:link', `updates of partition ${partition} do not reach their node: ${what}`)
  }
}

/** The mailbox of a partition in this process. */
interface LocalMailbox {
  reserve(commands: number): MailboxRefusal | undefined
  put(command: Command, until_ms: number, tenure?: Tenure): Promise<CommandOutcome>
}

/** The way to a partition in this process, bound to a tenure if there is one. */
export class LocalRoute implements BatchRoute {
  readonly batchesMost = Number.POSITIVE_INFINITY
  readonly opened: BatchRoute['opened']
  readonly #mailbox: LocalMailbox
  readonly #tenure: Tenure | undefined

  constructor(mailbox: LocalMailbox, tenure?: Tenure) {
    this.#mailbox = mailbox
    this.#tenure = tenure
    this.opened = Promise.resolve(ok({ epoch: tenure?.epoch ?? 0 }))
  }

  /** The commands are in the mailbox when this returns, or none of them. */
  send(commands: readonly Command[], until_ms: number): Promise<readonly CommandOutcome[]> {
    return putAll(this.#mailbox, commands, until_ms, this.#tenure)
  }

  /** Its mailbox is not its own. */
  close(): void {}
}

/** Puts commands into a mailbox before it returns, or none of them where they have no room; gives their outcomes. */
export function putAll(
  mailbox: LocalMailbox,
  commands: readonly Command[],
  until_ms: number,
  tenure: Tenure | undefined,
): Promise<readonly CommandOutcome[]> {
  const full = mailbox.reserve(commands.length)
  if (full !== undefined) return Promise.resolve(commands.map(() => err(full)))
  return Promise.all(
    commands.map((command) => mailbox.put(command, until_ms, tenure).then(outcomeOf, () => failed('fault'))),
  )
}

function outcomeOf(outcome: CommandOutcome): CommandOutcome {
  if (!outcome.ok) return outcome
  const { reply } = outcome.value
  return reply.kind === 'failed' && reply.why === 'notOwner' ? err({ kind: 'notOwner', owner: undefined }) : outcome
}

function failed(why: FailedReply['why']): CommandOutcome {
  const posted: Posted = { reply: { kind: 'failed', why }, turn: { decided_ns: 0, committed_ns: 0 }, entered: 0n }
  return ok(posted)
}
