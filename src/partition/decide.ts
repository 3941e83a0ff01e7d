import { applyUpdate, type EntityEffect } from '../context/apply.js'
import type { Tenant } from '../context/entity.js'
import type { UpdateCommand } from '../context/update.js'
import type { Command, Effect, Reply } from './message.js'
import type { Overlay } from './overlay.js'

/** What a command comes to: what is answered, and what is to be written. */
export interface Decision {
  readonly reply: Reply
  readonly effects: readonly Effect[]
}

/** Decides one command on what is held now; reads no clock, makes no ids, writes nothing. */
export function decide(view: Overlay, command: Command): Decision {
  switch (command.kind) {
    case 'update':
      return update(view, command)
    case 'ping':
      return { reply: { kind: 'pong' }, effects: [] }
  }
}

function update(view: Overlay, command: UpdateCommand): Decision {
  const { tenant, path, id } = command
  const { reply, effects } = applyUpdate(view.entities(tenant, path, id), command)
  const { items, missing } = reply
  return { reply: { kind: 'updated', items, missing }, effects: effects.map((effect) => effectIn(tenant, effect)) }
}

/** Written member by member: spreads would be made for every update. */
function effectIn(tenant: Tenant, effect: EntityEffect): Effect {
  if (effect.kind === 'remove') return { kind: 'remove', tenant, entity: effect.entity }
  const { entity, before, changed } = effect
  return { kind: 'put', tenant, entity, before, changed }
}
