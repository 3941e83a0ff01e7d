import type { EntityId, EntityType, ServicePath, Tenant } from '../../model/context/entity.js'
import type { Origin, UpdateCommand, UpdateElement, UpdateReply } from '../../model/context/update.js'
import type { NoticeAck } from '../../model/subscription/notice.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'

/** The commands of a partition. A kind that `decide.ts` does not decide does not compile. */
export type Command = UpdateCommand | RawUpdateCommand | SweepCommand | AckCommand | PingCommand

/**
 * An update of one entity as its client sent it: a payload, or one element of a payload. The front end, which all requests pass,
 * does the least: it finds the id and, in a payload of many elements, their bounds. The partition parses the element and renders
 * the response, by the interpreter that it was given.
 */
export interface RawUpdateCommand {
  readonly kind: 'rawUpdate'
  readonly sequence: Sequence
  readonly time: Milliseconds
  readonly tenant: Tenant
  readonly path: ServicePath
  /** The payload, or the element, as received. */
  readonly body: string
  /** Options of the request, as a number that only the interpreter understands. */
  readonly flags: number
  /** For updates of NGSIv2 only; their interpreter is chosen by it. An element of a batch names its entity itself. */
  readonly target?: RawTarget | 'element' | undefined
  readonly origin: Origin
}

/** The target of a raw update of NGSIv2: what its path names, or the one id in its payload. */
export interface RawTarget {
  readonly id: EntityId
  /** The parameter `type`; absent without it. */
  readonly type?: EntityType | undefined
  /** The attribute; absent where the path names none. */
  readonly name?: string | undefined
}

/**
 * Parses raw updates of an API and renders their responses; the partition itself knows no API. An exception makes the turn fail.
 */
export type Interpreter = (raw: RawUpdateCommand) => Interpretation

export type Interpretation =
  /** There is nothing to update. */
  | { readonly kind: 'reply'; readonly reply: RawUpdateReply }
  | {
      readonly kind: 'update'
      readonly element: UpdateElement
      /** Renders the reply after the update. */
      readonly render: (reply: UpdateReply) => RawUpdateReply
    }

/** A courier's outcomes of notices in this partition's outbox [subscriptions 5.7]. */
export interface AckCommand {
  readonly kind: 'ack'
  readonly acks: readonly NoticeAck[]
}

/** Removes entities that had expired by a time, as many as fit into a turn beside updates [NGSIv2 context 3.4]. */
export interface SweepCommand {
  readonly kind: 'sweep'
  readonly time: Milliseconds
}

/** Asks for a sign of life. */
export interface PingCommand {
  readonly kind: 'ping'
}

export type Reply = UpdatedReply | RawUpdateReply | SweptReply | AckedReply | PongReply | FailedReply

export interface RawUpdateReply {
  readonly kind: 'rawUpdate'
  /** Whether the payload passed its checks, so that the request counts [management 4.3]. */
  readonly accepted: boolean
  /** The status of the response; absent for 200. */
  readonly status?: number | undefined
  /** The payload of the response, empty without one; for an element, the text at its position in the response. */
  readonly text: string
  /** Headers beyond those of every response. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** For an element: its text behind the responses to all elements, if any [context 6.4]. */
  readonly missing?: string | undefined
  /** The codes of the errors that the response reports, where its status does not. */
  readonly errors?: readonly string[] | undefined
  /** While stages are timed [management 4.5]. */
  readonly spent?: InterpreterTimes
}

/** How long the interpreter took for one raw update, in ns. */
export interface InterpreterTimes {
  readonly parse_ns: number
  readonly render_ns: number
}

export interface UpdatedReply extends UpdateReply {
  readonly kind: 'updated'
}

/** The result of a sweep, once it is durable. */
export interface SweptReply {
  readonly kind: 'swept'
  /** The number of removed entities. */
  readonly removed: number
  /** Whether more expired entities may be left. */
  readonly more: boolean
}

/** The acks are durable. */
export interface AckedReply {
  readonly kind: 'acked'
}

export interface PongReply {
  readonly kind: 'pong'
}

/**
 * The turn could not be taken and nothing of it was written: storage is full, its record exceeds the limit of a cluster's log,
 * the partition belongs to another node, the command came after its sender had stopped waiting, or there is a fault that the log
 * names.
 */
export interface FailedReply {
  readonly kind: 'failed'
  readonly why: 'storageFull' | 'recordTooLarge' | 'notOwner' | 'late' | 'outcomeUnknown' | 'fault'
}
