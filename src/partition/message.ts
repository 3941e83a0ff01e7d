import type { EntityEffect } from '../context/apply.js'
import type { Tenant } from '../context/entity.js'
import type { UpdateCommand, UpdateReply } from '../context/update.js'

/** Everything that a partition can be told to do. A kind that `decide.ts` does not decide does not compile. */
export type Command = UpdateCommand | PingCommand

/** Asks for nothing but a sign of life. */
export interface PingCommand {
  readonly kind: 'ping'
}

/** What a partition answers. */
export type Reply = UpdatedReply | PongReply | FailedReply

export interface UpdatedReply extends UpdateReply {
  readonly kind: 'updated'
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
