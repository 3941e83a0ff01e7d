import type { EntityId, EntityType, ServicePath, Tenant } from '../../model/context/entity.js'
import type { Origin, UpdateCommand, UpdateElement, UpdateReply } from '../../model/context/update.js'
import type { NoticeAck } from '../../model/subscription/notice.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'

/** Everything that a partition can be told to do. A kind that `decide.ts` does not decide does not compile. */
export type Command = UpdateCommand | RawUpdateCommand | SweepCommand | AckCommand | PingCommand

/**
 * An update of one entity as its client sent it, as a payload of its own or as an element of one: the front end has looked
 * for the id and, in a payload of many elements, for their bounds; the partition parses it and renders the response by the
 * interpreter that it was given. So the front end, which all requests go through, does least.
 */
export interface RawUpdateCommand {
  readonly kind: 'rawUpdate'
  readonly sequence: Sequence
  readonly time: Milliseconds
  readonly tenant: Tenant
  readonly path: ServicePath
  /** The payload, or the element, as it came. */
  readonly body: string
  /** Options of the request, as a number that only the interpreter understands. */
  readonly flags: number
  /** Of an update of NGSIv2 only, by which its interpreter knows it. */
  readonly target?: RawTarget | undefined
  readonly origin: Origin
}

/** What a raw update of NGSIv2 is about: what its path names, or the one id in its payload. */
export interface RawTarget {
  readonly id: EntityId
  /** Of the parameter `type`; nothing without it. */
  readonly type?: EntityType | undefined
  /** The attribute; nothing where the path names none. */
  readonly name?: string | undefined
}

/**
 * Parses raw updates of an API and renders their responses; the partition itself knows no API. A fault of it makes the
 * turn fail.
 */
export type Interpreter = (raw: RawUpdateCommand) => Interpretation

export type Interpretation =
  /** There is nothing to update. */
  | { readonly kind: 'reply'; readonly reply: RawUpdateReply }
  | {
      readonly kind: 'update'
      readonly element: UpdateElement
      /** Gives the reply when the element is updated. */
      readonly render: (reply: UpdateReply) => RawUpdateReply
    }

/** What a courier says of notices in this partition's outbox, to be stored [subscriptions 5.7]. */
export interface AckCommand {
  readonly kind: 'ack'
  readonly acks: readonly NoticeAck[]
}

/** Removes entities that had expired at a time, as many as fit into a turn beside updates [NGSIv2 context 3.4]. */
export interface SweepCommand {
  readonly kind: 'sweep'
  readonly time: Milliseconds
}

/** Asks for nothing but a sign of life. */
export interface PingCommand {
  readonly kind: 'ping'
}

/** What a partition replies. */
export type Reply = UpdatedReply | RawUpdateReply | SweptReply | AckedReply | PongReply | FailedReply

/** The reply to a raw update. */
export interface RawUpdateReply {
  readonly kind: 'rawUpdate'
  /** Whether the payload passed its checks, so that the request counts [management 4.3]. */
  readonly accepted: boolean
  /** Of the response; 200 when absent. */
  readonly status?: number | undefined
  /** The payload of the response, empty without one; to an element, what stands at its position in it. */
  readonly text: string
  /** Of the response, beside those that every response has. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** To an element: what comes after the responses to all elements, if anything does [context 6.4]. */
  readonly missing?: string | undefined
  /** The codes of the errors that the response reports where its status says none. */
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

/** What a sweep has removed is gone from the disk. */
export interface SweptReply {
  readonly kind: 'swept'
  /** Entities that were removed. */
  readonly removed: number
  /** Whether there may be more that had expired. */
  readonly more: boolean
}

/** The acks are on disk. */
export interface AckedReply {
  readonly kind: 'acked'
}

export interface PongReply {
  readonly kind: 'pong'
}

/**
 * The turn could not be taken, nothing of it is on disk: storage is full, its record is larger than the log of a cluster takes,
 * the partition belongs to another node, the command has come when its sender waits no more, or there is a fault that the log
 * names.
 */
export interface FailedReply {
  readonly kind: 'failed'
  readonly why: 'storageFull' | 'recordTooLarge' | 'notOwner' | 'late' | 'outcomeUnknown' | 'fault'
}
