import type { Selector } from '../../src/model/context/query.js'
import { type DiscoveryOfRegistered, discovering, type Lookup } from '../../src/model/registration/discovery.js'
import {
  everyIdPattern,
  type RegisteredAttribute,
  type RegisteredContext,
  type RegisteredEntity,
  type Registration,
  type RegistrationId,
  type RegistrationTerms,
} from '../../src/model/registration/registration.js'
import { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import {
  type RegisteredSource,
  type SourceLookup,
  SourceSearch,
  sourcesOf,
} from '../../src/model/registration/sources.js'
import { atOnce, type Steps } from '../../src/slices.js'
import { at, id, root, tenant, type } from '../given.js'

/** `Street-4:Street`, or `Street-4` without a type; `*` stands for every id. */
export function registered(text: string): RegisteredEntity {
  const [name = '', kind = ''] = text.split(':')
  return name === '*' ? { id: everyIdPattern, type: type(kind), everyId: true } : { id: id(name), type: type(kind) }
}

/** Terms of NGSIv2, the usual ones unless something else is said. */
export function termed(terms: Partial<RegistrationTerms> = {}): RegistrationTerms {
  return { description: '', status: 'active', mode: 'all', legacy: false, ...terms }
}

export function attribute(name: string): RegisteredAttribute {
  return { name, type: 'any', isDomain: false }
}

/** Entities and attributes separated by spaces. */
export function context(entities: string, attributes = '', provider = 'http://p.example'): RegisteredContext {
  const words = (text: string): readonly string[] => text.split(' ').filter((word) => word !== '')
  return { entities: words(entities).map(registered), attributes: words(attributes).map(attribute), provider }
}

/** A registration whose id is made of its place in the order of creation. */
export function registration(
  order: number,
  contexts: readonly RegisteredContext[],
  more: Partial<Registration> = {},
): Registration {
  const name = String(order).padStart(24, '0') as RegistrationId
  return { id: name, order, tenant, path: root, expires: at(1000), contexts, ...more }
}

/** The exact id, of any type without one. */
export function exact(name: string, kind?: string): Selector {
  return { id: { kind: 'exact', id: id(name) }, type: kind === undefined ? undefined : type(kind) }
}

export function pattern(text: string, kind?: string): Selector {
  return { id: { kind: 'pattern', pattern: text }, type: kind === undefined ? undefined : type(kind) }
}

export function any(kind?: string): Selector {
  return { id: { kind: 'any' }, type: kind === undefined ? undefined : type(kind) }
}

/** The whole of `discovering` at once. */
export function discover(
  index: RegistrationIndex,
  lookup: Lookup,
  discovery: DiscoveryOfRegistered,
  page?: Parameters<typeof discovering>[3],
): ReturnType<typeof discovering> extends Steps<infer Found> ? Found : never {
  return atOnce(discovering(index, lookup, discovery, page))
}

/** The provider that is to be asked for an attribute. */
export function providerOf(
  index: RegistrationIndex,
  lookup: SourceLookup,
  entity: RegisteredEntity,
  attribute: string,
): string | undefined {
  return atOnce(new SourceSearch(index, lookup).of(entity).having(attribute))?.context.provider
}

/** The sources of an entity, without pauses. */
export function sources(
  index: RegistrationIndex,
  lookup: SourceLookup,
  entity: RegisteredEntity,
): readonly RegisteredSource[] {
  return [...sourcesOf(index, lookup, entity)].flatMap((source) => source ?? [])
}

/** The contexts that name an entity. */
export function naming(
  index: RegistrationIndex,
  lookup: SourceLookup,
  entity: RegisteredEntity,
): readonly RegisteredContext[] {
  return sources(index, lookup, entity).map(({ context }) => context)
}

export function indexOf(...registrations: readonly Registration[]): RegistrationIndex {
  const index = new RegistrationIndex()
  for (const each of registrations) index.put(each)
  return index
}
