import type { Selector } from '../../src/context/query.js'
import type {
  RegisteredAttribute,
  RegisteredContext,
  RegisteredEntity,
  Registration,
  RegistrationId,
} from '../../src/registration/registration.js'
import { at, id, root, tenant, type } from '../given.js'

/** `Street-4:Street`, or `Street-4` without a type. */
export function registered(text: string): RegisteredEntity {
  const [name = '', kind = ''] = text.split(':')
  return { id: id(name), type: type(kind) }
}

export function attribute(name: string): RegisteredAttribute {
  return { name, type: 'any', isDomain: false }
}

/** Entities and attributes separated by blanks. */
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
