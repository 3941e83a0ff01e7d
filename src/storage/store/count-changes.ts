import type { Database } from 'lmdb'
import { type Attribute, compareAttributes, type Entity, type Tenant } from '../../model/context/entity.js'
import { shownTypeOf } from '../../model/context/large/large-attribute.js'
import type { Environment } from '../environment/environment.js'
import { attributeTypeKey, countKey, type Key } from '../records/keys.js'
import type { EntityWrite } from '../records/turn-record.js'

/** The databases that have counts. */
type Counts = Pick<Environment, 'counts' | 'attributeTypes'>

/**
 * The differences that a turn makes to the counts of types, of attribute names, and of the types of attributes, from which
 * types are answered without reading entities [context 9], [NGSIv2 context 13]. Most updates make none.
 */
export class CountChanges {
  readonly #differences = new Map<string, Difference>()
  readonly #isMeant: ((name: string) => boolean) | undefined

  /** Keeps all differences, or only those of counts whose names (the texts of their keys) are meant. */
  constructor(isMeant?: (name: string) => boolean) {
    this.#isMeant = isMeant
  }

  /** How many counts change. */
  get size(): number {
    return this.#differences.size
  }

  note(change: EntityWrite): void {
    const { tenant, entity } = change
    if (change.kind === 'remove') this.#count(tenant, entity, -1)
    else if (change.before === undefined) this.#count(tenant, entity, 1)
    else {
      const names = namesOfOtherTypes(change.before.attributes, entity.attributes)
      if (names.size === 0) return
      this.#countNames(tenant, only(change.before, names), -1)
      this.#countNames(tenant, only(entity, names), 1)
    }
  }

  /** The differences by the names of the counts. */
  get differences(): ReadonlyMap<string, Difference> {
    return this.#differences
  }

  /** Writes the counts, within the transaction of the turn. */
  write(databases: Counts): void {
    for (const { of, key, amount } of this.#differences.values()) {
      if (amount !== 0) adjust(databases[of], key, amount)
    }
  }

  /** Counts the types of the attributes of an entity alone. */
  countTypes(tenant: Tenant, { path, type, attributes }: Counted, amount: 1 | -1): void {
    const counted = new Set<string>()
    for (const attribute of attributes) {
      const key = attributeTypeKey(tenant, path, type, attribute.name, shownTypeOf(attribute))
      const name = JSON.stringify(key)
      if (!counted.has(name)) this.#add('attributeTypes', name, key, amount)
      counted.add(name)
    }
  }

  #count(tenant: Tenant, entity: Entity, amount: 1 | -1): void {
    this.#addCount(countKey(tenant, entity.path, entity.type), amount)
    this.#countNames(tenant, entity, amount)
  }

  /** Counts the names of the attributes, and their types. */
  #countNames(tenant: Tenant, entity: Counted, amount: 1 | -1): void {
    const { path, type, attributes } = entity
    for (const name of new Set(attributes.map((attribute) => attribute.name))) {
      this.#addCount(countKey(tenant, path, type, name), amount)
    }
    this.countTypes(tenant, entity, amount)
  }

  #addCount(key: Key, amount: number): void {
    this.#add('counts', JSON.stringify(key), key, amount)
  }

  #add(of: keyof Counts, name: string, key: Key, amount: number): void {
    // A key of either database has its own number of parts, so that no two have the same name.
    if (this.#isMeant?.(name) === false) return
    const difference = this.#differences.get(name)
    if (difference) difference.amount += amount
    else this.#differences.set(name, { of, key, amount })
  }
}

/** The difference of one count. */
export interface Difference {
  readonly of: keyof Counts
  readonly key: Key
  amount: number
}

function adjust(counts: Database<string, Key>, key: Key, amount: number): void {
  const count = Number(counts.get(key) ?? 0) + amount
  if (count === 0) counts.removeSync(key)
  else counts.putSync(key, String(count))
}

/** The parts of an entity that counts depend on. */
type Counted = Pick<Entity, 'path' | 'type' | 'attributes'>

function only({ path, type, attributes }: Entity, names: ReadonlySet<string>): Counted {
  return { path, type, attributes: attributes.filter(({ name }) => names.has(name)) }
}

/** The names of which one has other instances, or instances of other types, than the other. Both are sorted. */
function namesOfOtherTypes(before: readonly Attribute[], after: readonly Attribute[]): ReadonlySet<string> {
  const names = new Set<string>()
  let [left, right] = [0, 0]
  while (left < before.length || right < after.length) {
    const [a, b] = [before[left], after[right]]
    const order = a === b ? 0 : a === undefined ? 1 : b === undefined ? -1 : compareAttributes(a, b)
    if (a !== undefined && (order < 0 || !isSameType(a, b ?? a))) names.add(a.name)
    if (b !== undefined && order > 0) names.add(b.name)
    if (order <= 0) left += 1
    if (order >= 0) right += 1
  }
  return names
}

function isSameType(a: Attribute, b: Attribute): boolean {
  return a === b || shownTypeOf(a) === shownTypeOf(b)
}
