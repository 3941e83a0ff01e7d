import { applyUpdate, type EntityEffect } from '../context/apply.js'
import type { Tenant } from '../context/entity.js'
import type { UpdateCommand } from '../context/update.js'
import type { Interpreter } from './interpreter.js'
import type { Command, Effect, RawUpdateCommand, Reply } from './message.js'
import type { Overlay } from './overlay.js'

/** What a command comes to: what is answered, and what is to be written. */
export interface Decision {
  readonly reply: Reply
  readonly effects: readonly Effect[]
}

/** Decides one command on what is held now; reads no clock, makes no ids, writes nothing. */
export function decide(view: Overlay, command: Command, interpret: Interpreter): Decision {
  switch (command.kind) {
    case 'update':
      return update(view, command)
    case 'rawUpdate':
      return worded(view, command, interpret)
    case 'ack':
      view.ack(command.acks)
      return { reply: { kind: 'acked' }, effects: [] }
    case 'ping':
      return { reply: { kind: 'pong' }, effects: [] }
  }
}

function update(view: Overlay, command: UpdateCommand): Decision {
  const { tenant, path, id, action } = command
  if (!view.hasRoom && action !== 'DELETE') return noRoom
  const { reply, effects } = applyUpdate(view.entities(tenant, path, id), command, view.limits)
  const { items, missing } = reply
  return { reply: { kind: 'updated', items, missing }, effects: effects.map((effect) => effectIn(tenant, effect)) }
}

function worded(view: Overlay, words: RawUpdateCommand, interpret: Interpreter): Decision {
  const meant = interpret(words)
  if (meant.kind === 'answered') return { reply: meant.reply, effects: [] }
  const { tenant, path, id, type, action, attributes, autocast, origin } = meant.element
  const { sequence, time } = words
  const command = {
    kind: 'update',
    sequence,
    time,
    tenant,
    path,
    id,
    type,
    action,
    attributes,
    autocast,
    origin,
  } as const
  const { reply, effects } = update(view, command)
  if (reply.kind !== 'updated') return { reply, effects }
  return { reply: meant.answer(reply), effects }
}

const noRoom: Decision = { reply: { kind: 'failed', why: 'storageFull' }, effects: [] }

/** Written member by member: spreads would be made for every update. */
function effectIn(tenant: Tenant, effect: EntityEffect): Effect {
  if (effect.kind === 'remove') return { kind: 'remove', tenant, entity: effect.entity }
  const { entity, before, changed } = effect
  return { kind: 'put', tenant, entity, before, changed }
}
