import type { Entity, Tenant } from '../../model/context/entity.js'
import type { NoticeAck } from '../../model/subscription/notice.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import { type NoticeWrite, noticeSections, noticesIn, noticeWrite } from './notice-write.js'
import { decodeEntity, encodeEntity } from './record.js'
import { decodeSections, encodeSections, type Section } from './sections.js'
import type { EntityChange, TurnChanges } from './store.js'

/** The changes of a turn in the form in which they are logged and applied. */
export interface TurnRecord {
  /** The highest sequence that an entity of the partition was ever created with. */
  readonly highest: number
  /** Each entity at most once, as the turn leaves it. */
  readonly entities: readonly EntityWrite[]
  readonly notices: readonly NoticeWrite[]
  readonly acks: readonly NoticeAck[]
}

/** The sum of all changes of an entity in a turn. */
export type EntityWrite =
  | {
      readonly kind: 'put'
      readonly tenant: Tenant
      readonly entity: Entity
      /** The entity before the turn; undefined when the turn has created it. */
      readonly before: Entity | undefined
      /** Its stored text. */
      readonly text: string
    }
  | {
      readonly kind: 'remove'
      readonly tenant: Tenant
      /** The entity before the turn. */
      readonly entity: Entity
    }

/** The record of a turn's changes; nothing when there is nothing to write. */
export function turnRecord({ entities, notices, acks }: TurnChanges, highest: number): TurnRecord | undefined {
  if (entities.length === 0 && notices.length === 0 && acks.length === 0) return undefined
  return {
    highest: entities.reduce((max, { entity }) => Math.max(max, entity.sequence), highest),
    entities: entityWrites(entities),
    notices: notices.map(noticeWrite),
    acks,
  }
}

/** An entity that a turn has created and removed again is not written. */
function entityWrites(changes: readonly EntityChange[]): readonly EntityWrite[] {
  const before = new Map<Sequence, Entity | undefined>()
  const last = new Map<Sequence, EntityChange>()
  for (const change of changes) {
    const { sequence } = change.entity
    if (!last.has(sequence)) before.set(sequence, change.kind === 'put' ? change.before : change.entity)
    last.set(sequence, change)
  }
  const writes: EntityWrite[] = []
  for (const [sequence, { kind, tenant, entity }] of last) {
    const held = before.get(sequence)
    if (kind === 'put') writes.push({ kind, tenant, entity, before: held, text: encodeEntity(entity) })
    else if (held !== undefined) writes.push({ kind, tenant, entity: held })
  }
  return writes
}

/** The version of the format. Everything below is part of the format on disk. */
const version = 1

/**
 * The bytes of a record in the log: sections, the first of which says the version and the highest sequence. Nothing stands in
 * it that can be found out from the store: indexes, counts, numbers of notices.
 */
export function encodeTurnRecord({ highest, entities, notices, acks }: TurnRecord): Uint8Array {
  const sections: Section[] = [{ tag: 'turn', text: `${version} ${highest}` }]
  for (const write of entities) {
    if (write.kind === 'remove') sections.push({ tag: 'remove', text: `${write.tenant} ${write.entity.sequence}` })
    else sections.push({ tag: write.before ? 'change' : 'create', text: `${write.tenant} ${write.text}` })
  }
  sections.push(...noticeSections(notices))
  if (acks.length > 0) sections.push({ tag: 'acks', text: JSON.stringify(acks) })
  return encodeSections(sections)
}

/**
 * The record that `encodeTurnRecord` wrote; throws when it cannot be read.
 *
 * @param held gives an entity of the store as it is before the turn is applied
 */
export function decodeTurnRecord(bytes: Uint8Array, held: (tenant: Tenant, sequence: Sequence) => Entity): TurnRecord {
  const sections = decodeSections(bytes)
  const [head] = sections
  const [writtenBy, highest] = head?.tag === 'turn' ? head.text.split(' ').map(Number) : []
  if (writtenBy !== version || highest === undefined) throw new Error(`it is no record of a turn in version ${version}`)
  return {
    highest,
    entities: sections.flatMap((section) => entityWriteIn(section, held)),
    notices: noticesIn(sections),
    acks: sections.flatMap(({ tag, text }) => (tag === 'acks' ? (JSON.parse(text) as NoticeAck[]) : [])),
  }
}

function entityWriteIn(
  { tag, text: section }: Section,
  held: (tenant: Tenant, sequence: Sequence) => Entity,
): readonly EntityWrite[] {
  if (tag !== 'remove' && tag !== 'change' && tag !== 'create') return []
  const space = section.indexOf(' ') // Tenants have none.
  const tenant = section.slice(0, space) as Tenant
  const text = section.slice(space + 1)
  if (tag === 'remove') return [{ kind: 'remove', tenant, entity: held(tenant, Number(text) as Sequence) }]
  const entity = decodeEntity(text)
  const before = tag === 'change' ? held(tenant, entity.sequence) : undefined
  return [{ kind: 'put', tenant, entity, before, text }]
}
