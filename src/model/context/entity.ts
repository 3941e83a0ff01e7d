import type { Brand } from '../../result.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'

export type Tenant = Brand<string, 'Tenant'>
export type ServicePath = Brand<string, 'ServicePath'>
export type EntityId = Brand<string, 'EntityId'>
/** The empty text is the type of an entity without one [context 2.1]. */
export type EntityType = Brand<string, 'EntityType'>

/** A JSON value as it is stored. Values written through NGSIv1 have only texts as leaves [context 3]. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value }

export interface Metadata {
  readonly name: string
  readonly type: string
  readonly value: Value
}

/** One instance of an attribute, identified within its entity by name and instance [context 2.2]. */
export interface Attribute {
  readonly name: string
  /** The metadata ID; empty for the one instance of an attribute without ID [context 2.4]. */
  readonly instance: string
  readonly type: string
  readonly value: Value
  /** Whether it is the entity's location, by its type or by metadata `location`; at most one attribute is [context 2.5]. */
  readonly isLocation: boolean
  /** Without ID and location, ascending by name. */
  readonly metadata: readonly Metadata[]
  readonly created: Milliseconds
  readonly modified: Milliseconds
}

export interface Entity {
  readonly path: ServicePath
  readonly id: EntityId
  readonly type: EntityType
  readonly sequence: Sequence
  readonly created: Milliseconds
  readonly modified: Milliseconds
  /** The root of the correlator of the last update that changed it, see `rootOf`; undefined if it was not recorded. */
  readonly correlator?: string | undefined
  /** Ascending by name, instances of one name by ID, compared as UTF-8 bytes [context 2.7]. */
  readonly attributes: readonly Attribute[]
}

/**
 * The order of two texts as UTF-8 bytes. JavaScript compares UTF-16 units, which differs where a surrogate meets a character from
 * U+E000 on: a surrogate pair stands for a character beyond all of those.
 */
export function compareBytes(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at += 1) {
    const left = a.charCodeAt(at)
    const right = b.charCodeAt(at)
    if (left !== right) return aboveSurrogates(left) - aboveSurrogates(right)
  }
  return a.length - b.length
}

function aboveSurrogates(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

/** The order of attributes in responses: by name, then by instance. */
export function compareAttributes(
  a: Pick<Attribute, 'name' | 'instance'>,
  b: Pick<Attribute, 'name' | 'instance'>,
): number {
  return compareBytes(a.name, b.name) || compareBytes(a.instance, b.instance)
}

/** The characters that no text of a request may hold, unless a rule says so [context 4.1], [NGSIv2 context 4.1]. */
const forbidden = /[<>"'=;()]/

/** Further characters that identifiers may not hold: anything but visible ASCII, and `& ? / #`. */
const forbiddenInIds = /[^!-~]|[&?/#]/

const notInIdentifiers = /[^!-~]|[&?/#<>"'=;()]/

/** The most bytes of a name or type [context 4.2], [NGSIv2 context 4.1]. */
export const maxName_bytes = 256

/** Whether a text holds a character that is forbidden everywhere [context 4.1], [NGSIv2 context 4.1]. */
export function hasForbidden(text: string): boolean {
  return forbidden.test(text)
}

/**
 * Whether a text holds one of the further characters that identifiers may not have: those of NGSIv2 always, those of NGSIv1
 * with `-strictNgsiv1Ids` [context 4.1], [NGSIv2 context 4.1].
 */
export function hasForbiddenInId(text: string): boolean {
  return forbiddenInIds.test(text)
}

/** Whether a text holds a character that identifiers of NGSIv2 may not have [NGSIv2 context 4.1]. */
export function hasForbiddenInIdentifier(text: string): boolean {
  return notInIdentifiers.test(text)
}

/** The length in bytes of a name or type that is too long, otherwise undefined [context 4.2], [NGSIv2 context 4.1]. */
export function excessiveLength(text: string): number | undefined {
  // No character needs more than three bytes for each of its UTF-16 units.
  if (text.length * 3 <= maxName_bytes) return undefined
  const bytes = Buffer.byteLength(text)
  return bytes > maxName_bytes ? bytes : undefined
}

/** Searching a list of up to this length is faster than making a set. */
const searchedQuickly = 8

const sets = new WeakMap<readonly string[], ReadonlySet<string>>()

/** Whether a constant list holds a name; fast also for long lists and frequent calls. */
export function isListed(name: string, names: readonly string[]): boolean {
  if (names.length <= searchedQuickly) return names.includes(name)
  const known = sets.get(names)
  if (known !== undefined) return known.has(name)
  const made = new Set(names)
  sets.set(names, made)
  return made.has(name)
}
