import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Versions } from '../../threads/shared-memory/versions.js'
import { entityName, idName } from '../records/store.js'
import type { EntityWrite, TurnRecord } from '../records/turn-record.js'
import type { LogSequence } from '../wal/record-log.js'
import { type EntryChange, entryChangesOf } from './index-entries.js'
import type { Memtable, NamedRecords, PublishedRecords } from './memtable.js'
import type { Outbox } from './outbox.js'
import { changed, type HeldRecord } from './record-cache.js'
import { mostWrites, UnappliedTurns, writesFor } from './unapplied-turns.js'

/** What lets LMDB follow the log. */
export interface Deferral {
  /** Shows other threads what LMDB does not have yet. */
  readonly memtable: Memtable
  /** Told when something becomes visible apart from LMDB, and when LMDB is written apart from a turn. */
  readonly versions: Pick<Versions, 'begin' | 'end'>
}

/** A turn that other threads can be shown before LMDB has it. */
export interface Publication {
  readonly turn: TurnRecord
  /** The records of the names that it changes, as it leaves them. */
  readonly all: PublishedRecords
  /** What it changes in the indexes. */
  readonly entries: readonly EntryChange[]
  /** The texts of its notices. */
  readonly notices: readonly string[]
}

/**
 * The turns of a partition that stand in its log and not in LMDB: other threads read their records of single names in the memtable, until
 * LMDB has all of them.
 */
export class TurnPublisher {
  readonly #memtable: Memtable
  readonly #versions: Deferral['versions']
  /** The sum of all of them. */
  #unapplied = new UnappliedTurns()
  /** How many writes are gathered. */
  #most = mostWrites

  constructor({ memtable, versions }: Deferral) {
    this.#memtable = memtable
    this.#versions = versions
  }

  /** The last record of the log among them; undefined when there are none. */
  get last(): LogSequence | undefined {
    return this.#unapplied.last
  }

  /** The most bytes that writing them to LMDB adds to its file. */
  get size_bytes(): number {
    return this.#unapplied.size_bytes
  }

  /** All records of a name as the last of them leaves them; undefined when LMDB has them. */
  records(name: string): readonly HeldRecord[] | undefined {
    return this.last === undefined ? undefined : this.#memtable.get(name)
  }

  /**
   * What a turn publishes, by what the names that it changes have had before; nothing of one with notices that share what they show, which
   * are large.
   */
  publicationOf(turn: TurnRecord, before: (write: EntityWrite) => readonly HeldRecord[]): Publication | undefined {
    const notices: string[] = []
    for (const notice of turn.notices) {
      if (notice.kind === 'shared') return undefined
      notices.push(notice.text)
    }
    const all = new Map<string, NamedRecords>()
    for (const [name, { write, texts }] of changesByName(turn.entities)) {
      const { path, id } = write.entity
      all.set(name, { idName: idName(write.tenant, id), path, records: changed(before(write), texts) })
    }
    // Made here, since nothing may fail once the record stands in the log.
    return { turn, all, entries: turn.entities.flatMap(entryChangesOf), notices }
  }

  /** Whether a turn can be published before LMDB has followed. */
  takes({ all, notices }: Publication): boolean {
    return this.#unapplied.writes < this.#most && this.#memtable.fits(all, notices)
  }

  /** Publishes a turn whose record stands in the log under a sequence. To be asked for before: `takes`. */
  publish(sequence: LogSequence, { turn, all, entries, notices: texts }: Publication, outbox: Outbox): void {
    const first = outbox.takeNumbers(texts.length)
    const notices = texts.map((text, at) => ({ number: first + at, text }))
    this.#unapplied.add(sequence, turn, entries, notices)
    this.#versions.begin(turn.entities, 'memtable')
    this.#memtable.publish(all, notices)
    this.#versions.end()
  }

  /** Has LMDB follow, by a function that carries out a transaction. */
  apply(transaction: (write: UnappliedTurns['write']) => void): void {
    const begun_ms = performance.now()
    this.#versions.begin([])
    try {
      transaction((environment, outbox) => this.#unapplied.write(environment, outbox))
    } finally {
      this.#versions.end()
    }
    const took_ms = performance.now() - begun_ms
    this.#most = writesFor(this.#most, { writes: this.#unapplied.writes, took_ms })
    this.#unapplied = new UnappliedTurns()
    this.#memtable.applied()
  }
}

/** What a turn changes in the records of one name: one of the writes, and the texts by their sequences. */
interface NamedChanges {
  readonly write: EntityWrite
  readonly texts: Map<Sequence, string | undefined>
}

/** The changes of a turn by the names of ids in their paths. */
export function changesByName(writes: readonly EntityWrite[]): ReadonlyMap<string, NamedChanges> {
  const byName = new Map<string, NamedChanges>()
  for (const write of writes) {
    const name = nameOf(write)
    const named = byName.get(name)
    if (named === undefined) byName.set(name, { write, texts: new Map([[write.entity.sequence, textOf(write)]]) })
    else named.texts.set(write.entity.sequence, textOf(write))
  }
  return byName
}

/** The name of the id that a write is about, in its path. */
export function nameOf({ tenant, entity: { path, id } }: EntityWrite): string {
  return entityName(tenant, path, id)
}

/** The text of the record that a write leaves; undefined when it removes it. */
export function textOf(write: EntityWrite): string | undefined {
  return write.kind === 'put' ? write.text : undefined
}
