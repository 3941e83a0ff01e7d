import type { EntityId, EntityType, Metadata, ServicePath, Tenant, Value } from '../../model/context/entity.js'
import { largeGiven } from '../../model/context/large/large-given.js'
import { LargeValue } from '../../model/context/large/large-value.js'
import { weightOfValue } from '../../model/context/large/weight.js'
import { textWritten } from '../../model/context/large/written-value.js'
import type { GivenAttribute, Origin, UpdateAction, UpdateCommand, UpdateTerms } from '../../model/context/update.js'
import { type PackedToken, packedToken, unpackedToken } from '../../model/subscription/notice.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'
import type {
  AckCommand,
  Command,
  RawTarget,
  RawUpdateCommand,
  RawUpdateReply,
  Reply,
  SweepCommand,
} from './commands.js'

/** A batch as it is sent to another thread: JSON, and the payloads that would be costly to write into it. */
export interface Encoded {
  readonly text: string
  readonly bodies: readonly string[]
}

/**
 * Encodes a batch as one text: a message costs far more than its bytes, and a graph of objects would be cloned member by member.
 * Commands are arrays without member names, which halves the text.
 */
export function encodeCommands(batch: readonly Command[]): Encoded {
  const bodies: string[] = []
  const all: PackedCommand[] = []
  let run: RawRun | undefined
  for (const command of batch) {
    if (command.kind !== 'rawUpdate') {
      run = undefined
      all.push(packed(command, bodies))
      continue
    }
    bodies.push(command.body)
    if (run !== undefined && isOfRequest(command, run.first)) run.sequences.push(command.sequence)
    else {
      run = { first: command, sequences: [command.sequence] }
      all.push(packedRun(run))
    }
  }
  return { text: JSON.stringify(all), bodies }
}

/** The batch that `encodeCommands` wrote. Both ends are this program, so the text is not checked. */
export function decodeCommands({ text, bodies }: Encoded): readonly Command[] {
  const remaining = bodies.values()
  const batch: Command[] = []
  for (const command of JSON.parse(text) as readonly PackedCommand[]) {
    if (isRun(command)) unpackRun(command, remaining, batch)
    else batch.push(unpacked(command, remaining))
  }
  return batch
}

/** Encodes the replies of a batch, in the order of its commands. */
export function encodeReplies(replies: readonly Reply[]): Encoded {
  const bodies: string[] = []
  const text = JSON.stringify(replies.map((reply) => packedReply(reply, bodies)))
  return { text, bodies }
}

export function decodeReplies({ text, bodies }: Encoded): readonly Reply[] {
  const remaining = bodies.values()
  return (JSON.parse(text) as readonly PackedReply[]).map((reply) => unpackedReply(reply, remaining))
}

type PackedMetadata = readonly [name: string, type: string, value: Value]

/** Without its last members when no value is given. The text of a large value is in `bodies`, which a 1 behind its place says. */
type PackedAttribute = readonly [
  name: string,
  instance: string,
  type: string,
  metadata: readonly PackedMetadata[],
  location: string | 0,
  value?: Value,
  isApart?: 1,
]

type PackedUpdate = readonly [
  sequence: number,
  time: number,
  tenant: string,
  path: string,
  id: string,
  type: string | 0,
  action: UpdateAction,
  attributes: readonly PackedAttribute[],
  autocast: 0 | 1,
  correlator: string,
  token: PackedToken,
  via: PackedVia,
  /** For updates of NGSIv2 only. */
  terms?: PackedTerms,
]

type PackedTerms = readonly [
  entity: UpdateTerms['entity'],
  typeOfNew: string,
  overridesMetadata: boolean,
  forced: boolean,
  valueOnly: NonNullable<UpdateTerms['valueOnly']> | 0,
]

/** Empty without `Via`; in an array for a custom notification; 0 when the change causes no notifications. */
type PackedVia = string | 0 | readonly [via: string]

/** Consecutive raw updates that are elements of one request; their bodies are in `bodies`. */
type PackedRun = readonly [
  sequences: readonly number[],
  time: number,
  tenant: string,
  path: string,
  flags: number,
  correlator: string,
  token: PackedToken,
  via: PackedVia,
  /** For updates of NGSIv2 only; 1 for elements of a batch. */
  target?: PackedTarget | 1,
]

type PackedTarget = readonly [id: string, type: string | 0, name: string | 0]

/** 0 is a ping; acks and sweeps are sent as they are. */
type PackedCommand = PackedUpdate | PackedRun | AckCommand | SweepCommand | 0

/** For a raw update its bits, followed by its times if they were taken; its texts are in `bodies`. */
type PackedReply =
  | Exclude<Reply, RawUpdateReply>
  | RawReplyBits
  | readonly [RawReplyBits, parse_ns: number, render_ns: number]

/**
 * The reply to a raw update: 1 if the update was accepted; 2 if a missing text follows, 4 if headers follow, 8 if errors follow,
 * the latter two as JSON; the status, 0 for none, from bit 4 on.
 */
type RawReplyBits = number

/** Consecutive raw updates of one request. */
interface RawRun {
  readonly first: RawUpdateCommand
  readonly sequences: Sequence[]
}

function isOfRequest(
  { origin, time, tenant, path, flags, target }: RawUpdateCommand,
  other: RawUpdateCommand,
): boolean {
  return (
    origin === other.origin &&
    target === other.target &&
    time === other.time &&
    flags === other.flags &&
    tenant === other.tenant &&
    path === other.path
  )
}

function packed(command: Exclude<Command, RawUpdateCommand>, bodies: string[]): PackedCommand {
  switch (command.kind) {
    case 'ping':
      return 0
    case 'ack':
    case 'sweep':
      return command
    case 'update':
      return packedUpdate(command, bodies)
  }
}

/** `sequences` may still grow. */
function packedRun({ first: { time, tenant, path, flags, target, origin }, sequences }: RawRun): PackedRun {
  const { correlator } = origin
  const token = packedToken(origin, tenant)
  const via = packedVia(origin)
  if (target === undefined) return [sequences, time, tenant, path, flags, correlator, token, via]
  if (target === 'element') return [sequences, time, tenant, path, flags, correlator, token, via, 1]
  const { id, type, name } = target
  return [sequences, time, tenant, path, flags, correlator, token, via, [id, type ?? 0, name ?? 0]]
}

function packedUpdate(command: UpdateCommand, bodies: string[]): PackedUpdate {
  const { sequence, time, tenant, path, id, type, action, attributes, autocast, terms, origin } = command
  const { correlator } = origin
  const token = packedToken(origin, tenant)
  const given = attributes.map((attribute) => packedAttribute(attribute, bodies))
  const via = packedVia(origin)
  const of = type ?? 0
  const cast = autocast ? 1 : 0
  if (terms === undefined) return [sequence, time, tenant, path, id, of, action, given, cast, correlator, token, via]
  const packed = packedTerms(terms)
  return [sequence, time, tenant, path, id, of, action, given, cast, correlator, token, via, packed]
}

function packedTerms({ entity, typeOfNew, overridesMetadata, forced, valueOnly }: UpdateTerms): PackedTerms {
  return [entity, typeOfNew, overridesMetadata, forced, valueOnly ?? 0]
}

function unpackedTerms([entity, typeOfNew, overridesMetadata, forced, valueOnly]: PackedTerms): UpdateTerms {
  return {
    entity,
    typeOfNew: typeOfNew as EntityType,
    overridesMetadata,
    forced,
    valueOnly: valueOnly === 0 ? undefined : valueOnly,
  }
}

function packedVia({ via = '', ends, isCustom }: Origin): PackedVia {
  if (ends) return 0
  return isCustom ? [via] : via
}

function origin(correlator: string, [token, service]: readonly [string, string?], via: PackedVia): Origin {
  if (via === 0) return { correlator, token, service, via: undefined, ends: true }
  if (typeof via === 'object') {
    return { correlator, token, service, via: via[0] || undefined, ends: undefined, isCustom: true }
  }
  return { correlator, token, service, via: via === '' ? undefined : via, ends: undefined, isCustom: undefined }
}

function packedAttribute(
  { name, instance, type, metadata, location, value }: GivenAttribute,
  bodies: string[],
): PackedAttribute {
  const elements = metadata.map(packedMetadata)
  if (value === undefined) return [name, instance, type, elements, location ?? 0]
  if (!isApart(value)) return [name, instance, type, elements, location ?? 0, value]
  bodies.push(textWritten(value) ?? JSON.stringify(value))
  return [name, instance, type, elements, location ?? 0, 0, 1]
}

/** Whether a value is so large that its partition should not materialise it, neither to store it nor to carry out an operation. */
function isApart(value: Value): value is Exclude<Value, string | number | boolean | null> {
  if (typeof value !== 'object' || value === null) return false
  return textWritten(value) !== undefined || weightOfValue(value, apartFrom_weight) >= apartFrom_weight
}

const apartFrom_weight = 1000

function packedMetadata({ name, type, value }: Metadata): PackedMetadata {
  return [name, type, value]
}

function isRun(command: PackedCommand): command is PackedRun {
  return typeof command === 'object' && !('kind' in command) && typeof command[0] === 'object'
}

function unpacked(command: Exclude<PackedCommand, PackedRun>, bodies: Iterator<string>): Command {
  if (command === 0) return { kind: 'ping' }
  return 'kind' in command ? command : unpackedUpdate(command, bodies)
}

function unpackRun(run: PackedRun, bodies: Iterator<string>, batch: Command[]): void {
  const [sequences, time, tenant, path, flags, correlator, token, via, packed] = run
  const shared = origin(correlator, unpackedToken(token, tenant), via)
  const target = packed === 1 ? 'element' : packed && unpackedTarget(packed)
  for (const sequence of sequences) {
    batch.push({
      kind: 'rawUpdate',
      sequence: sequence as Sequence,
      time: time as Milliseconds,
      tenant: tenant as Tenant,
      path: path as ServicePath,
      body: next(bodies),
      flags,
      target,
      origin: shared,
    })
  }
}

function unpackedTarget([id, type, name]: PackedTarget): RawTarget {
  return {
    id: id as EntityId,
    type: type === 0 ? undefined : (type as EntityType),
    name: name === 0 ? undefined : name,
  }
}

function unpackedUpdate(command: PackedUpdate, bodies: Iterator<string>): UpdateCommand {
  const [sequence, time, tenant, path, id, type, action, attributes, autocast, correlator, token, via, terms] = command
  return {
    kind: 'update',
    sequence: sequence as Sequence,
    time: time as Milliseconds,
    tenant: tenant as Tenant,
    path: path as ServicePath,
    id: id as EntityId,
    type: type === 0 ? undefined : (type as EntityType),
    action,
    attributes: attributes.map((attribute) => unpackedAttribute(attribute, bodies)),
    autocast: autocast === 1 ? true : undefined,
    terms: terms && unpackedTerms(terms),
    origin: origin(correlator, unpackedToken(token, tenant), via),
  }
}

function unpackedAttribute(
  [name, instance, type, elements, declared, value, isApart]: PackedAttribute,
  bodies: Iterator<string>,
): GivenAttribute {
  const location = declared === 0 ? undefined : declared
  const metadata = elements.map(unpackedMetadata)
  if (isApart === undefined) return { name, instance, type, value, location, metadata }
  const text = next(bodies)
  const held = LargeValue.written(text, undefined, () => JSON.parse(text) as Value)
  return largeGiven({ name, instance, type, location, metadata }, held)
}

function unpackedMetadata([name, type, value]: PackedMetadata): Metadata {
  return { name, type, value }
}

function packedReply(reply: Reply, bodies: string[]): PackedReply {
  if (reply.kind !== 'rawUpdate') return reply
  const { accepted, status = 0, text, headers, missing, errors, spent } = reply
  bodies.push(text)
  if (missing !== undefined) bodies.push(missing)
  if (headers !== undefined) bodies.push(JSON.stringify(headers))
  if (errors !== undefined) bodies.push(JSON.stringify(errors))
  const parts = (missing === undefined ? 0 : 2) | (headers === undefined ? 0 : 4) | (errors === undefined ? 0 : 8)
  const bits = (accepted ? 1 : 0) | parts | (status << 4)
  return spent === undefined ? bits : [bits, spent.parse_ns, spent.render_ns]
}

function unpackedReply(reply: PackedReply, bodies: Iterator<string>): Reply {
  if (typeof reply === 'number') return unpackedRawReply(reply, bodies)
  if ('kind' in reply) return reply
  const [bits, parse_ns, render_ns] = reply
  return { ...unpackedRawReply(bits, bodies), spent: { parse_ns, render_ns } }
}

function unpackedRawReply(bits: RawReplyBits, bodies: Iterator<string>): RawUpdateReply {
  const accepted = (bits & 1) !== 0
  const status = bits >> 4 || undefined
  const text = next(bodies)
  const missing = (bits & 2) === 0 ? undefined : next(bodies)
  const headers: RawUpdateReply['headers'] = (bits & 4) === 0 ? undefined : JSON.parse(next(bodies))
  const errors: RawUpdateReply['errors'] = (bits & 8) === 0 ? undefined : JSON.parse(next(bodies))
  return { kind: 'rawUpdate', accepted, status, text, headers, missing, errors }
}

function next(bodies: Iterator<string>): string {
  const { value, done } = bodies.next()
  if (done) throw new Error('a batch has fewer bodies than it needs')
  return value
}
