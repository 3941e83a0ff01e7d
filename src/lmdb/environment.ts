import { type Database, open, type RootDatabase } from 'lmdb'
import type { Key } from './keys.js'

/** The databases of one partition. Values are texts; what they hold is said in `record.ts`. */
export interface Environment {
  readonly root: RootDatabase<string, Key>
  /** [tenant, place] to the record of an entity. */
  readonly records: Database<string, Key>
  /** [tenant, id, path, type] to its place. */
  readonly ids: Database<string, Key>
  /** [tenant, type, place] to the path and the id. */
  readonly types: Database<string, Key>
  /** [tenant, path, type] to the number of entities, with a name behind it to the number of those that have the attribute. */
  readonly counts: Database<string, Key>
  /** Facts about the partition itself. */
  readonly facts: Database<string, Key>
}

export interface EnvironmentSettings {
  readonly readOnly: boolean
  /** The size that the data may grow to; address space, not disk, until it is used. */
  readonly mapSize_bytes: number
  /** Whether a commit is on disk when it returns [management 9.3, -writeConcern]. */
  readonly durable: boolean
  /** Read transactions that may be open at one time, over all threads. */
  readonly maxReaders: number
}

/** Opens the environment in a folder, which is made if it is missing. Threads of one process share it. */
export function openEnvironment(path: string, settings: EnvironmentSettings): Environment {
  const root = open<string, Key>({
    path,
    readOnly: settings.readOnly,
    mapSize: settings.mapSize_bytes,
    maxReaders: settings.maxReaders,
    maxDbs: 16,
    noSubdir: false, // A path with a dot in it would be taken for a file, not a folder.
    overlappingSync: false, // A commit that returns before the disk has it would break the promise of a 200.
    noSync: !settings.durable,
    cache: false, // Partitions cache decoded entities themselves.
    encoding: 'string',
  })
  const database = (name: string): Database<string, Key> => root.openDB({ name, encoding: 'string', cache: false })
  return {
    root,
    records: database('records'),
    ids: database('ids'),
    types: database('types'),
    counts: database('counts'),
    facts: database('facts'),
  }
}

/** The figures of LMDB that the broker shows; the library has no type for them. */
export interface Stats {
  readonly entryCount: number
  readonly pageSize: number
  readonly lastPageNumber: number
  readonly mapSize: number
}

/** The figures of one database, and those of the file that holds it. */
export function statsOf(database: Database<string, Key>): Stats {
  const raw: Partial<Record<keyof Stats, unknown>> = database.getStats()
  const figure = (name: keyof Stats): number => Number(raw[name] ?? 0)
  return {
    entryCount: figure('entryCount'),
    pageSize: figure('pageSize'),
    lastPageNumber: figure('lastPageNumber'),
    mapSize: figure('mapSize'),
  }
}
