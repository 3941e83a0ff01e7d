import assert from 'node:assert'
import { ChangeViews } from '../src/api/ngsi2/render/change-view.js'
import { conditionEvaluator, messageRenderer } from '../src/api/ngsi2/render/notification-message.js'
import type { Client } from '../src/broker/operations/api.js'
import type { EntityId, EntityType, Metadata, ServicePath, Tenant, Value } from '../src/model/context/entity.js'
import type { PathRange, Query } from '../src/model/context/query.js'
import type { GivenAttribute, Origin, UpdateAction, UpdateCommand, UpdateElement } from '../src/model/context/update.js'
import { Expressions } from '../src/model/expression/expressions.js'
import { Matcher } from '../src/model/subscription/matcher.js'
import type { Log } from '../src/observe/log/log.js'
import { DamageLog } from '../src/observe/log/worker-log.js'
import type { Command, Reply } from '../src/partition/turn/commands.js'
import { decideTurn } from '../src/partition/turn/decide.js'
import { commitTurn, endTurn, type TurnParts } from '../src/partition/turn/turn.js'
import type { Sequence } from '../src/threads/shared-memory/sequences.js'
import { Versions } from '../src/threads/shared-memory/versions.js'
import type { Milliseconds } from '../src/time.js'

export const tenant = '' as Tenant
export const root = '/' as ServicePath
export const everywhere: readonly PathRange[] = [{ path: root, below: true }]

/** A client that waits for its response. */
export const waiting: Client = {
  gone: false,
  isTrusted: true,
  whenGone: () => {},
  hold: () => true,
  times: undefined,
  aside: (wait) => wait(),
}

export function id(text: string): EntityId {
  return text as EntityId
}

export function type(text: string): EntityType {
  return text as EntityType
}

export function path(text: string): ServicePath {
  return text as ServicePath
}

export function at(milliseconds: number): Milliseconds {
  return milliseconds as Milliseconds
}

/** An attribute as a request gives it; metadata as name to value, with ID and location in their own members. */
export function given(
  name: string,
  value?: Value,
  more: {
    readonly type?: string
    readonly ID?: string
    readonly location?: string
    readonly metadata?: Metadata[]
  } = {},
): GivenAttribute {
  return {
    name,
    instance: more.ID ?? '',
    type: more.type ?? '',
    ...(value === undefined ? {} : { value }),
    ...(more.location === undefined ? {} : { location: more.location }),
    metadata: more.metadata ?? [],
  }
}

export function metadata(name: string, value: Value, metadataType = ''): Metadata {
  return { name, type: metadataType, value }
}

/** The request that elements come with, unless a test says something else. */
export const origin: Origin = { correlator: 'corr-1', token: '' }

/** A context element for the default tenant and the root path. */
export function element(
  action: UpdateAction,
  entity: string,
  attributes: readonly GivenAttribute[] = [],
  more: Partial<UpdateElement> = {},
): UpdateElement {
  return { tenant, path: root, id: id(entity), action, attributes, origin, ...more }
}

let places = 0

/** A command with a place after all others of this process and a date of its own. */
export function command(
  action: UpdateAction,
  entity: string,
  attributes: readonly GivenAttribute[] = [],
  more: Partial<UpdateCommand> = {},
): UpdateCommand {
  places += 1
  return {
    ...element(action, entity, attributes),
    kind: 'update',
    sequence: places as Sequence,
    time: at(1_700_000_000_000 + places),
    ...more,
  }
}

/** A query for every entity of the default tenant, twenty at a time. */
export function query(more: Partial<Query> = {}): Query {
  return {
    tenant,
    paths: everywhere,
    selectors: [{ id: { kind: 'any' }, type: undefined }],
    attributes: [],
    scopes: [],
    order: [],
    offset: 0,
    limit: 20,
    counted: false,
    ...more,
  }
}

export const storeSettings = {
  sizeMax_bytes: 256 * 2 ** 20,
  keepFree_bytes: 0,
  writers: 1,
  durable: true,
  maxReaders: 64,
}

/** A log for parts that have to have one. */
export const silentLog: Log = {
  traces: new Uint8Array(256),
  isTraced: () => false,
  shows: () => false,
  fatal: () => {},
  error: () => {},
  warn: () => {},
  info: () => {},
  debug: () => {},
  trace: () => {},
}

/** For parts of a test in which nothing is damaged. */
export const noDamages = new DamageLog({ error: assert.fail }, () => {})

const renderingParts = {
  ...{ expressions: new Expressions(100_000), views: new ChangeViews(), max_bytes: 100_000, fillsIn: true },
  legacyBody: ({ id }: { readonly id: string }) => id,
}

/** What makes the messages of a matcher in the forms of NGSIv2. */
export const rendering = {
  message: messageRenderer(renderingParts),
  holds: conditionEvaluator(renderingParts),
  expressions: renderingParts.expressions,
}

/** Nobody has subscribed to anything, unless a test puts it in. */
export function matcher(): Matcher {
  return new Matcher({ legacyBody: ({ id }) => id, ...rendering, log: silentLog, memory_bytes: 10_000 })
}

/** A whole turn, however long; what fails in it is thrown. */
export function takeTurn(parts: TurnParts, batch: readonly Command[]): readonly Reply[] {
  const { replies, changes } = decideTurn(parts, batch)
  commitTurn(parts, changes)
  endTurn(parts)
  return replies
}

/** Versions that nobody else sees. */
export function versions(): Versions {
  return new Versions(Versions.memory())
}

/** An interpreter for partitions that get no raw updates. */
export function noWords(): never {
  throw new Error('there are no raw updates here')
}
