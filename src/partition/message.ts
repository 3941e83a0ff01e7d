import type { EntityEffect } from '../context/apply.js'
import type { ServicePath, Tenant } from '../context/entity.js'
import type { Origin, UpdateCommand, UpdateReply } from '../context/update.js'
import type { Sequence } from '../shared-memory/sequences.js'
import type { NoticeAck } from '../subscription/notice.js'
import type { Milliseconds } from '../time.js'

/** Everything that a partition can be told to do. A kind that `decide.ts` does not decide does not compile. */
export type Command = UpdateCommand | RawUpdateCommand | AckCommand | PingCommand

/**
 * An update of one entity in the words of its client: its front end has looked for the id and nothing else, the
 * partition understands and answers it by the interpreter that it was given. So the front end, which all requests go
 * through, does least.
 */
export interface RawUpdateCommand {
  readonly kind: 'rawUpdate'
  readonly sequence: Sequence
  readonly time: Milliseconds
  readonly tenant: Tenant
  readonly path: ServicePath
  /** The payload as it came. */
  readonly body: string
  /** What else the request says of how it is meant; only the interpreter knows what the number stands for. */
  readonly flags: number
  readonly origin: Origin
}

/** What a courier says of notices in this partition's outbox, to be stored [subscriptions 5.7]. */
export interface AckCommand {
  readonly kind: 'ack'
  readonly acks: readonly NoticeAck[]
}

/** Asks for nothing but a sign of life. */
export interface PingCommand {
  readonly kind: 'ping'
}

/** What a partition answers. */
export type Reply = UpdatedReply | RawUpdateReply | AckedReply | PongReply | FailedReply

/** The answer to an update in words, in the words of the same API. */
export interface RawUpdateReply {
  readonly kind: 'rawUpdate'
  /** Whether the payload passed its checks, so that the request counts [management 4.3]. */
  readonly accepted: boolean
  readonly text: string
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

/** The acks are on disk. */
export interface AckedReply {
  readonly kind: 'acked'
}

export interface PongReply {
  readonly kind: 'pong'
}

/** The turn could not be taken, nothing of it is on disk: storage is full, or there is a fault that the log names. */
export interface FailedReply {
  readonly kind: 'failed'
  readonly why: 'storageFull' | 'fault'
}

/** What a turn writes: the effects of its commands with the tenant that they belong to. */
export type Effect = EntityEffect & { readonly tenant: Tenant }
