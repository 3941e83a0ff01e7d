import type { EntityId, EntityType, Metadata, Place, ServicePath, Tenant, Value } from '../context/entity.js'
import type { GivenAttribute, UpdateAction, UpdateCommand } from '../context/update.js'
import type { Milliseconds } from '../time.js'
import type { Command, Reply } from './message.js'

/**
 * A batch crosses to another thread as one text: a message costs far more than its bytes, and a graph of objects would
 * be cloned member by member. Commands are vectors without names of members, which halves what is written and read.
 */
export function encodeCommands(batch: readonly Command[]): string {
  return JSON.stringify(batch.map(packed))
}

/** The batch that `encodeCommands` wrote. Both ends are this program, so what arrives is what was sent. */
export function decodeCommands(text: string): readonly Command[] {
  return (JSON.parse(text) as readonly PackedCommand[]).map(unpacked)
}

/** The replies of a batch as one text, in the order of its commands. */
export function encodeReplies(replies: readonly Reply[]): string {
  return JSON.stringify(replies)
}

/** The replies that `encodeReplies` wrote. */
export function decodeReplies(text: string): readonly Reply[] {
  return JSON.parse(text) as readonly Reply[]
}

type PackedMetadata = readonly [name: string, type: string, value: Value]

/** Without the last member when no value is given. */
type PackedAttribute = readonly [
  name: string,
  instance: string,
  type: string,
  metadata: readonly PackedMetadata[],
  location: string | 0,
  value?: Value,
]

type PackedUpdate = readonly [
  place: number,
  time: number,
  tenant: string,
  path: string,
  id: string,
  type: string | 0,
  action: UpdateAction,
  attributes: readonly PackedAttribute[],
  autocast: 0 | 1,
]

/** 0 is a ping. */
type PackedCommand = PackedUpdate | 0

function packed(command: Command): PackedCommand {
  if (command.kind === 'ping') return 0
  const { place, time, tenant, path, id, type, action, attributes, autocast } = command
  return [place, time, tenant, path, id, type ?? 0, action, attributes.map(packedAttribute), autocast ? 1 : 0]
}

function packedAttribute({ name, instance, type, metadata, location, value }: GivenAttribute): PackedAttribute {
  const elements = metadata.map(packedMetadata)
  if (value === undefined) return [name, instance, type, elements, location ?? 0]
  return [name, instance, type, elements, location ?? 0, value]
}

function packedMetadata({ name, type, value }: Metadata): PackedMetadata {
  return [name, type, value]
}

function unpacked(command: PackedCommand): Command {
  if (command === 0) return { kind: 'ping' }
  const [place, time, tenant, path, id, type, action, attributes, autocast] = command
  const update: UpdateCommand = {
    kind: 'update',
    place: place as Place,
    time: time as Milliseconds,
    tenant: tenant as Tenant,
    path: path as ServicePath,
    id: id as EntityId,
    type: type === 0 ? undefined : (type as EntityType),
    action,
    attributes: attributes.map(unpackedAttribute),
    autocast: autocast === 1 ? true : undefined,
  }
  return update
}

function unpackedAttribute([name, instance, type, elements, place, value]: PackedAttribute): GivenAttribute {
  const location = place === 0 ? undefined : place
  return { name, instance, type, value, location, metadata: elements.map(unpackedMetadata) }
}

function unpackedMetadata([name, type, value]: PackedMetadata): Metadata {
  return { name, type, value }
}
