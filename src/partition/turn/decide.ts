import { applyUpdate, type EntityEffect } from '../../model/context/apply.js'
import type { Entity, EntityId, ServicePath, Tenant } from '../../model/context/entity.js'
import { prepared } from '../../model/context/entity-forms.js'
import { sizeIn } from '../../model/context/entity-room.js'
import type { EntityLimits } from '../../model/context/entity-size.js'
import type { UpdateCommand } from '../../model/context/update.js'
import { expirationOf } from '../../model/context/value.js'
import { changeBy, untouchedBy } from '../../model/subscription/change.js'
import type { Matcher } from '../../model/subscription/matcher.js'
import type { NoticeAck } from '../../model/subscription/notice.js'
import { type EntityChange, type Expired, entityName, type TurnChanges } from '../../storage/records/store.js'
import type { PartitionStore } from '../../storage/store/partition-store.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'
import type { Command, Interpreter, RawUpdateCommand, Reply, SweepCommand } from './commands.js'
import { type DeprecatedLocation, gatherDeprecated } from './deprecated-locations.js'

export interface DecidingParts {
  /** As the last turn left it. Deciding changes nothing that it holds; LMDB may follow the log meanwhile. */
  readonly store: Pick<PartitionStore, 'limits' | 'hasRoom' | 'entities' | 'expired'>
  readonly interpret: Interpreter
  readonly matcher: Matcher
}

/** A decided turn. None of it may be visible before its changes are applied. */
export interface DecidedTurn {
  /** Replies to the commands at the beginning of the batch: to all of them unless the turn was long. */
  readonly replies: readonly Reply[]
  readonly changes: TurnChanges
  /** Deprecated locations to report to operators once the turn has happened. */
  readonly deprecated: readonly DeprecatedLocation[]
}

/**
 * Decides a batch, or as much of it as fits into one turn: later commands see what earlier ones changed. The decisions depend only on
 * the store, the subscriptions with their clocks, and the batch; no change is written.
 *
 * When this returns, the notices' moments are on the clocks of their subscriptions: `commitTurn` keeps them or takes them back. When this
 * throws, they have been taken back.
 *
 * @param isLong asked after each command, with the number of decided ones: whether the rest is left for the next turn
 */
export function decideTurn(
  { store, interpret, matcher }: DecidingParts,
  batch: readonly Command[],
  isLong = (_decided: number) => false,
): DecidedTurn {
  const overlay = new Overlay(store)
  const replies: Reply[] = []
  const entities = new GatheredChanges()
  const acks: NoticeAck[] = []
  const deprecated: DeprecatedLocation[] = []
  try {
    for (const command of batch) {
      const { reply, changes, update } = decide(overlay, command, interpret)
      overlay.lay(changes)
      if (update !== undefined && !matcher.isIdle) match(matcher, update)
      if (update?.command.terms !== undefined) noteDeprecated(update, deprecated)
      for (const change of changes) entities.add(change)
      if (command.kind === 'ack') for (const ack of command.acks) acks.push(ack)
      replies.push(reply)
      if (isLong(replies.length)) break
    }
    return { replies, changes: { entities: entities.all, notices: matcher.notices, acks }, deprecated }
  } catch (fault) {
    matcher.undo()
    throw fault
  }
}

/** Matches the effects of an update with subscriptions. A sweep causes no notifications [NGSIv2 context 3.4]. */
function match(matcher: Matcher, { command, effects, untouched }: DecidedUpdate): void {
  for (const effect of effects) matcher.match(changeBy(command, effect), command)
  for (const entity of untouched) matcher.match(untouchedBy(command, entity), command)
}

/** Gathers deprecated features that an update of NGSIv2 has used. */
function noteDeprecated({ command, effects, untouched }: DecidedUpdate, into: DeprecatedLocation[]): void {
  for (const { kind, entity } of effects) if (kind === 'put') gatherDeprecated(command, entity, into)
  for (const entity of untouched) gatherDeprecated(command, entity, into)
}

/** The decision on one command. */
interface Decision {
  readonly reply: Reply
  readonly changes: readonly EntityChange[]
  /** Absent when no entity was updated. */
  readonly update?: DecidedUpdate | undefined
}

interface DecidedUpdate {
  readonly command: UpdateCommand
  readonly effects: readonly EntityEffect[]
  readonly untouched: readonly Entity[]
}

function decide(overlay: Overlay, command: Command, interpret: Interpreter): Decision {
  switch (command.kind) {
    case 'update':
      return update(overlay, command)
    case 'rawUpdate':
      return rawUpdate(overlay, command, interpret)
    case 'sweep':
      return sweep(overlay, command)
    case 'ack':
      return { reply: { kind: 'acked' }, changes: [] }
    case 'ping':
      return { reply: { kind: 'pong' }, changes: [] }
  }
}

function update(overlay: Overlay, command: UpdateCommand): Decision {
  const { tenant, path, id, action } = command
  if (!overlay.hasRoom && action !== 'DELETE') return noRoom
  const { reply, effects, untouched } = applyUpdate(overlay.entities(tenant, path, id), command, overlay.limits)
  const { items, missing } = reply
  const changes = effects.map((effect) => changeOf(tenant, effect))
  return { reply: { kind: 'updated', items, missing }, changes, update: { command, effects, untouched } }
}

function rawUpdate(overlay: Overlay, raw: RawUpdateCommand, interpret: Interpreter): Decision {
  const interpretation = interpret(raw)
  if (interpretation.kind === 'reply') return { reply: interpretation.reply, changes: [] }
  const { tenant, path, id, type, action, attributes, autocast, terms, origin } = interpretation.element
  const { sequence, time } = raw
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
    terms,
    origin,
  } as const
  const decision = update(overlay, command)
  if (decision.reply.kind !== 'updated') return decision
  return { reply: interpretation.render(decision.reply), changes: decision.changes, update: decision.update }
}

/**
 * The most entities that one command removes, or reads because they share the id of one that it removes, and few if they are large, so that
 * many expirations at once do not delay updates. All of one id are read together.
 */
const sweptMost = 256
const sweptMost_characters = 2 ** 20

/** An entity whose date an earlier command of the turn has changed stays. */
function sweep(overlay: Overlay, { time }: SweepCommand): Decision {
  const expired = overlay.expired(time, sweptMost)
  const changes: EntityChange[] = []
  const read = new Set<Entity>()
  let characters = 0
  const isEnough = () => read.size >= sweptMost || characters > sweptMost_characters
  let looked = 0
  for (const { tenant, path, id, sequence } of expired) {
    if (isEnough()) break
    looked += 1
    const held = overlay.entities(tenant, path, id)
    for (const entity of held) {
      if (read.has(entity)) continue
      read.add(entity)
      characters += sizeIn(entity)
    }
    const entity = held.find((each) => each.sequence === sequence)
    const expires = entity && expirationOf(entity)
    if (entity && expires !== undefined && expires <= time) changes.push({ kind: 'remove', tenant, entity })
  }
  const more = expired.length === sweptMost || looked < expired.length
  const reply = { kind: 'swept', removed: changes.length, more } as const
  return { reply, changes }
}

const noRoom: Decision = { reply: { kind: 'failed', why: 'storageFull' }, changes: [] }

/** Member by member, since a spread would cost every update more. */
function changeOf(tenant: Tenant, effect: EntityEffect): EntityChange {
  if (effect.kind === 'remove') return { kind: 'remove', tenant, entity: effect.entity }
  const { entity, before } = effect
  return { kind: 'put', tenant, entity, before }
}

/** The changes of a turn. Of an entity that is put repeatedly, only the first `before` and the last form are kept. */
class GatheredChanges {
  readonly all: EntityChange[] = []
  /** The position of the last change of each entity. */
  readonly #last = new Map<Sequence, number>()

  add(change: EntityChange): void {
    const { sequence } = change.entity
    const at = this.#last.get(sequence)
    const held = at === undefined ? undefined : this.all[at]
    if (at !== undefined && held?.kind === 'put' && change.kind === 'put') {
      this.all[at] = { ...change, before: held.before }
      return
    }
    this.#last.set(sequence, this.all.length)
    this.all.push(change)
  }
}

/** The store with the changes of earlier commands of the same turn on top. */
class Overlay {
  /** Whether the data may grow. Asked once per turn. */
  readonly hasRoom: boolean
  readonly #store: DecidingParts['store']
  /** The entities that the turn has seen, in their current form. */
  readonly #seen = new Map<string, readonly Entity[]>()

  constructor(store: DecidingParts['store']) {
    this.#store = store
    this.hasRoom = store.hasRoom()
  }

  get limits(): EntityLimits {
    return this.#store.limits
  }

  /** The entities of one id in one service path, oldest first. */
  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[] {
    const name = entityName(tenant, path, id)
    const seen = this.#seen.get(name)
    // An entity that is updated again will probably be updated often.
    const entities = seen === undefined ? this.#store.entities(tenant, path, id) : preparedAll(seen)
    if (entities !== seen) this.#seen.set(name, entities)
    return entities
  }

  /** The entities that the store has as expired, including those that the turn has changed. */
  expired(time: Milliseconds, limit: number): readonly Expired[] {
    return this.#store.expired(time, limit)
  }

  /** Makes changes visible to later commands. */
  lay(changes: readonly EntityChange[]): void {
    for (let from = 0; from < changes.length; ) {
      const first = changes[from]
      if (first === undefined) return
      const to = endOfId(changes, from)
      const { path, id } = first.entity
      const name = entityName(first.tenant, path, id)
      const held = this.#seen.get(name) ?? this.#store.entities(first.tenant, path, id)
      this.#seen.set(name, to - from === 1 ? withChange(held, first) : withChanges(held, changes.slice(from, to)))
      from = to
    }
  }
}

/** The end of the run of changes with the same id and path. */
function endOfId(changes: readonly EntityChange[], from: number): number {
  const first = changes[from]
  for (let to = from + 1; to < changes.length; to += 1) {
    const change = changes[to]
    if (change?.entity.id !== first?.entity.id || change?.entity.path !== first?.entity.path) return to
    if (change?.tenant !== first?.tenant) return to
  }
  return changes.length
}

function withChange(held: readonly Entity[], { kind, entity }: EntityChange): readonly Entity[] {
  const others = held.filter(({ sequence }) => sequence !== entity.sequence)
  return kind === 'put' ? inSequence([...others, entity]) : others
}

/**
 * All at once, since one change at a time would copy the list for each of the thousand types that an id may have. Each entity is
 * changed once.
 */
function withChanges(held: readonly Entity[], changes: readonly EntityChange[]): readonly Entity[] {
  const changed = new Set(changes.map(({ entity }) => entity.sequence))
  const others = held.filter(({ sequence }) => !changed.has(sequence))
  return inSequence([...others, ...changes.flatMap(({ kind, entity }) => (kind === 'put' ? entity : []))])
}

function inSequence(entities: Entity[]): readonly Entity[] {
  return entities.sort((a, b) => a.sequence - b.sequence)
}

/** The same array when its entities are prepared already, or small. */
function preparedAll(entities: readonly Entity[]): readonly Entity[] {
  const all = entities.map(prepared)
  return all.every((entity, at) => entity === entities[at]) ? entities : all
}
