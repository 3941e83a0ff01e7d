import type { Database } from 'lmdb'
import { expirationOf } from '../context/expiration.js'
import type { Expired } from '../partition/store.js'
import type { Sequence } from '../shared-memory/sequences.js'
import type { Milliseconds } from '../time.js'
import { numberOf } from './damage.js'
import type { Environment } from './environment.js'
import { behindExpired, expirationKey, type Key } from './keys.js'
import { decodeEntity, decodeLocated, encodeLocated } from './record.js'
import type { EntityWrite } from './turn-record.js'
import { writeInTransaction } from './write-transaction.js'

/** The fact that all entities of the partition that expire are in the index. Part of the format on disk. */
const indexedFact: Key = ['expirations']

/** The entities of a partition that expire, by when they do [NGSIv2 context 3.4]. */
export class Expirations {
  readonly #index: Database<string, Key>

  constructor({ expirations }: Environment) {
    this.#index = expirations
  }

  /** Enters what was stored before there was an index; to be called before the log is recovered. */
  static ensure({ root, records, expirations, facts }: Environment, path: string): void {
    if (numberOf(facts.get(indexedFact), path, 'the fact that expirations are indexed') === 1) return
    writeInTransaction(root, () => {
      for (const { key, value: text } of records.getRange()) {
        // Few entities expire: most are told by their text.
        if (!text.includes('"dateExpires"')) continue
        const entity = decodeEntity(text)
        const expires = expirationOf(entity)
        const [tenant, sequence] = key
        if (expires !== undefined) expirations.putSync([expires, tenant ?? '', sequence ?? 0], encodeLocated(entity))
      }
      facts.putSync(indexedFact, '1')
    })
  }

  /** Enters and removes what a write makes of an entity, within the transaction of its turn. */
  note(write: EntityWrite): void {
    const { tenant, entity } = write
    const held = write.kind === 'put' ? write.before : entity
    const before = held && expirationOf(held)
    const after = write.kind === 'put' ? expirationOf(entity) : undefined
    if (before === after) return
    if (before !== undefined) this.#index.removeSync(expirationKey(before, tenant, entity.sequence))
    if (after !== undefined) this.#index.putSync(expirationKey(after, tenant, entity.sequence), encodeLocated(entity))
  }

  /** Those that have expired by then, the first of them first, at most so many. */
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
