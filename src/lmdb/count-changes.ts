import type { Database } from 'lmdb'
import type { Entity, Tenant } from '../context/entity.js'
import type { Effect } from '../partition/message.js'
import { countKey, type Key } from './keys.js'

/**
 * What a turn does to the counts of types and attribute names, from which `contextTypes` is answered without reading
 * entities [context 9]. Most updates change none of them, and cost them nothing.
 */
export class CountChanges {
  readonly #changes = new Map<string, { readonly key: Key; amount: number }>()

  note(effect: Effect): void {
    const { tenant, entity } = effect
    if (effect.kind === 'remove') this.#count(tenant, entity, -1)
    else if (effect.before === undefined) this.#count(tenant, entity, 1)
    else if (!sameNames(effect.before, entity)) {
      this.#count(tenant, effect.before, -1)
      this.#count(tenant, entity, 1)
    }
  }

  write(counts: Database<string, Key>): void {
    for (const { key, amount } of this.#changes.values()) {
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
    const change = this.#changes.get(name)
    if (change) change.amount += amount
    else this.#changes.set(name, { key, amount })
  }
}

/** Attributes are sorted, so the same names stand at the same positions. */
function sameNames(a: Entity, b: Entity): boolean {
  return (
    a.attributes.length === b.attributes.length && a.attributes.every(({ name }, at) => name === b.attributes[at]?.name)
  )
}
