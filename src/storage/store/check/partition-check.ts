import { join } from 'node:path'
import { faultText } from '../../../faults.js'
import { fnv1a, shardOf } from '../../../hash.js'
import type { Entity, Tenant } from '../../../model/context/entity.js'
import type { Sequence } from '../../../threads/shared-memory/sequences.js'
import { type Environment, figuresOf } from '../../environment/environment.js'
import { type Key, recordKey } from '../../records/keys.js'
import { decodeEntity } from '../../records/record.js'
import { CountChanges } from '../count-changes.js'
import { entriesOf, hasEntry, type IndexName, indexes } from '../index-entries.js'
import { highestFact } from '../partition-store.js'
import type { Findings } from './findings.js'

/** The parts of a check of a partition. */
export interface PartitionCheckParts {
  readonly environment: Environment
  readonly path: string
  /** The number of the partition, and the number of partitions. */
  readonly partition: number
  readonly partitions: number
  readonly findings: Findings
  /** Called after each record. */
  readonly checked: () => void
}

/** The most counts in memory at a time; with more, the records are read several times. */
const countsAtOnce = 500_000

/**
 * Compares the records of a partition with all that is made of them: each record has its entries in the indexes, no index has
 * another one, and the counts are those of the records. In the memory of some hundred thousand counts.
 */
export class PartitionCheck {
  readonly #parts: PartitionCheckParts
  readonly #file: string
  /** The entries of each index that a record has. */
  readonly #found: Record<IndexName, number> = { ids: 0, types: 0, expirations: 0, cells: 0 }
  #entities = 0

  constructor(parts: PartitionCheckParts) {
    this.#parts = parts
    this.#file = join(parts.path, 'data.mdb')
  }

  /** Checks the partition; returns the number of entities. */
  run(): number {
    const { counts, attributeTypes } = this.#parts.environment
    const passes = Math.ceil((figuresOf(counts).entryCount + figuresOf(attributeTypes).entryCount + 1) / countsAtOnce)
    for (let pass = 0; pass < passes; pass += 1) this.#pass(pass, passes)
    for (const index of indexes) this.#checkIndex(index)
    return this.#entities
  }

  /** The first pass checks the records, each of them a part of the counts. */
  #pass(pass: number, passes: number): void {
    const isOfPass = (name: string): boolean => passes === 1 || (fnv1a(name) >>> 0) % passes === pass
    const counts = new CountChanges(isOfPass)
    const highest = Number(this.#parts.environment.facts.get(highestFact) ?? 0)
    for (const { key, value: text } of this.#parts.environment.records.getRange()) {
      const found = this.#record(key, text, pass === 0)
      if (found !== undefined) counts.note({ kind: 'put', ...found, before: undefined, text })
      if (pass > 0) continue
      this.#entities += 1
      if (found !== undefined) this.#checkRecord(found.tenant, found.entity, highest)
      this.#parts.checked()
    }
    this.#compareCounts(counts, isOfPass)
  }

  /** The entity of a record; undefined when it cannot be read, which is reported once. */
  #record(key: Key, text: string, isTold: boolean): { readonly tenant: Tenant; readonly entity: Entity } | undefined {
    const tell = (what: string): undefined => {
      if (isTold) this.#tell('records', key, what)
      return undefined
    }
    const [tenant, sequence] = key
    try {
      const entity = decodeEntity(text)
      const areTexts = [entity.id, entity.type, entity.path].every((part) => typeof part === 'string')
      const areDates = Number.isFinite(entity.created) && Number.isFinite(entity.modified)
      if (!areTexts || !areDates) return tell('the record is none of an entity')
      if (typeof tenant !== 'string' || entity.sequence !== sequence) {
        return tell(`the record is that of sequence ${entity.sequence}`)
      }
      return { tenant: tenant as Tenant, entity }
    } catch (fault) {
      return tell(`the record cannot be read (${faultText(fault)})`)
    }
  }

  #checkRecord(tenant: Tenant, entity: Entity, highest: number): void {
    const { environment, partition, partitions } = this.#parts
    const key = recordKey(tenant, entity.sequence)
    const owner = shardOf(tenant, entity.id, partitions)
    if (owner !== partition) this.#tell('records', key, `entity ${entity.id} belongs to partition ${owner}`)
    if (entity.sequence > highest) {
      this.#tell('records', key, `its sequence is higher than the highest that was given, ${highest}`)
    }
    for (const { index, key: entry, value } of entriesOf(tenant, entity)) {
      const held = environment[index].get(entry)
      if (held !== undefined) this.#found[index] += 1
      if (held === undefined) this.#tell(index, entry, `the entry of the record ${JSON.stringify(key)} is missing`)
      else if (held !== value)
        this.#tell(index, entry, `the entry is ${JSON.stringify(held)} instead of ${JSON.stringify(value)}`)
    }
  }

  #compareCounts(counts: CountChanges, isOfPass: (name: string) => boolean): void {
    let met = 0
    for (const of of ['counts', 'attributeTypes'] as const) {
      for (const { key, value } of this.#parts.environment[of].getRange()) {
        const name = JSON.stringify(key)
        if (!isOfPass(name)) continue
        const counted = counts.differences.get(name)
        if (counted?.of === of) met += 1
        const amount = counted?.of === of ? counted.amount : 0
        if (value !== String(amount)) this.#tell(of, key, `the count is ${value} instead of ${amount}`)
      }
    }
    if (met === counts.size) return
    for (const { of, key, amount } of counts.differences.values()) {
      if (this.#parts.environment[of].get(key) === undefined)
        this.#tell(of, key, `the count is missing, which is ${amount}`)
    }
  }

  /** Looks for entries without a record. The entries of all records were counted, so an index of that size has no others. */
  #checkIndex(index: IndexName): void {
    const { environment } = this.#parts
    if (figuresOf(environment[index]).entryCount === this.#found[index]) return
    for (const { key, value } of environment[index].getRange()) {
      const at = recordOf(index, key, value)
      const text = environment.records.get(recordKey(at.tenant, at.sequence))
      if (text === undefined) {
        this.#tell(
          index,
          key,
          `the entry names the record ${JSON.stringify([at.tenant, at.sequence])}, which is not there`,
        )
        continue
      }
      const found = this.#record([at.tenant, at.sequence], text, false)
      if (found === undefined) continue
      const isIts = hasEntry(entriesOf(at.tenant, found.entity), index, key)
      if (!isIts) this.#tell(index, key, `the record ${JSON.stringify([at.tenant, at.sequence])} has no such entry`)
    }
  }

  #tell(database: string, key: Key, what: string): void {
    this.#parts.findings.add(`${this.#file} ${database}`, key, what)
  }
}

/** The record that an entry refers to. */
function recordOf(index: IndexName, key: Key, value: string): { readonly tenant: Tenant; readonly sequence: Sequence } {
  const tenant = String(key[index === 'expirations' ? 1 : 0] ?? '') as Tenant
  return { tenant, sequence: Number(index === 'ids' ? value : key.at(-1)) as Sequence }
}
