import { applyUpdate } from '../context/apply.js'
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
  return { reply: { kind: 'updated', ...reply }, effects: effects.map((effect) => ({ ...effect, tenant })) }
}
