import type { Database } from 'lmdb'
import { expirationOf } from '../../model/context/value.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'
import type { Environment } from '../environment/environment.js'
import { behindExpired, expirationKey, type Key } from '../records/keys.js'
import { decodeLocated, encodeLocated } from '../records/record.js'
import type { Expired } from '../records/store.js'
import type { EntityWrite } from '../records/turn-record.js'

/** The entities of a partition that expire, by when they do [NGSIv2 context 3.4]. */
export class Expirations {
  readonly #index: Database<string, Key>

  constructor({ expirations }: Environment) {
    this.#index = expirations
  }

  /** Updates the index for a write of an entity, within the transaction of its turn. */
  note(write: EntityWrite): void {
    const { tenant, entity } = write
    const held = write.kind === 'put' ? write.before : entity
    const before = held && expirationOf(held)
    const after = write.kind === 'put' ? expirationOf(entity) : undefined
    if (before === after) return
    if (before !== undefined) this.#index.removeSync(expirationKey(before, tenant, entity.sequence))
    if (after !== undefined) this.#index.putSync(expirationKey(after, tenant, entity.sequence), encodeLocated(entity))
  }

  /** The entities that have expired at a time, by expiration, at most `limit`. */
  expired(time: Milliseconds, limit: number): readonly Expired[] {
    const found: Expired[] = []
    for (const { key, value } of this.#index.getRange({ end: behindExpired(time), limit })) {
      const [, tenant, sequence] = key
      found.push({
        tenant: String(tenant) as Expired['tenant'],
        sequence: Number(sequence) as Sequence,
        ...decodeLocated(value),
      })
    }
    return found
  }
}
