import type { Database } from 'lmdb'
import type { Entity, Tenant } from '../context/entity.js'
import { countKey, type Key } from './keys.js'
import type { EntityWrite } from './turn-record.js'

/**
 * The differences that a turn makes to the counts of types and attribute names, from which `contextTypes` is answered
 * without reading entities [context 9]. Most updates make none.
 */
export class CountChanges {
  readonly #differences = new Map<string, { readonly key: Key; amount: number }>()

  note(change: EntityWrite): void {
    const { tenant, entity } = change
    if (change.kind === 'remove') this.#count(tenant, entity, -1)
    else if (change.before === undefined) this.#count(tenant, entity, 1)
    else if (!sameNames(change.before, entity)) {
      this.#count(tenant, change.before, -1)
      this.#count(tenant, entity, 1)
    }
  }

  /** Writes the counts, within the transaction of the turn. */
  write(counts: Database<string, Key>): void {
    for (const { key, amount } of this.#differences.values()) {
      if (amount === 0) continue
      const count = Number(counts.get(key) ?? 0) + amount
      if (count === 0) counts.removeSync(key)
      else counts.putSync(key, String(count))
    }
  }

  #count(tenant: Tenant, { path, type, attributes }: Entity, amount: 1 | -1): void {
    this.#add(countKey(tenant, path, type), amount)
    for (const name of new Set(attributes.map((attribute) => attribute.name))) {
      this.#add(countKey(tenant, path, type, name), amount)
    }
  }

  #add(key: Key, amount: number): void {
    const name = JSON.stringify(key)
    const difference = this.#differences.get(name)
    if (difference) difference.amount += amount
    else this.#differences.set(name, { key, amount })
  }
}

/** Attributes are sorted, so the same names stand at the same positions. */
function sameNames(a: Entity, b: Entity): boolean {
  return (
    a.attributes.length === b.attributes.length && a.attributes.every(({ name }, at) => name === b.attributes[at]?.name)
  )
}
