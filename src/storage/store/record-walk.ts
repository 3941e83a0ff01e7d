import type { Entity, Tenant } from '../../model/context/entity.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import { type Environment, type EnvironmentSettings, openEnvironment } from '../environment/environment.js'
import { entityOf } from '../records/damage.js'
import { type Key, recordsOf } from '../records/keys.js'

/** Walks over all records of a partition in the order of their keys, in any thread. */
export class RecordWalk {
  readonly #path: string
  readonly #environment: Environment

  constructor(path: string, settings: Omit<EnvironmentSettings, 'readOnly'>) {
    this.#path = path
    this.#environment = openEnvironment(path, { ...settings, readOnly: true })
  }

  /** The tenants that have entities here, by their names. */
  tenants(): readonly Tenant[] {
    const tenants: Tenant[] = []
    let start: Key = ['']
    for (;;) {
      const [first] = [...this.#environment.records.getKeys({ start, limit: 1 })]
      if (first === undefined) return tenants
      const tenant = String(first[0]) as Tenant
      tenants.push(tenant)
      start = [tenant, Number.POSITIVE_INFINITY]
    }
  }

  /** The entities of a tenant in the order of creation, read one by one; throws `DamagedRecord` for one that cannot be. */
  *entities(tenant: Tenant): Generator<Entity> {
    for (const { key, value: text } of this.#environment.records.getRange(recordsOf(tenant, 0))) {
      yield entityOf(text, { path: this.#path, tenant, sequence: Number(key[1]) as Sequence })
    }
  }

  async close(): Promise<void> {
    await this.#environment.root.close()
  }
}
