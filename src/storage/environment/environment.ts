import { type Database, open, type RootDatabase } from 'lmdb'
import type { Key } from '../records/keys.js'
import { tryEnvironmentFiles } from './environment-files.js'

/** The databases of one partition. Values are texts, whose formats are in `record.ts`. */
export interface Environment {
  readonly root: RootDatabase<string, Key>
  /** [tenant, sequence] to the record of an entity. */
  readonly records: Database<string, Key>
  /** [tenant, id, path, type] to its sequence. */
  readonly ids: Database<string, Key>
  /** [tenant, type, sequence] to the path and the id. */
  readonly types: Database<string, Key>
  /** [tenant, path, type] to the number of entities, with a name behind it to the number of those that have the attribute. */
  readonly counts: Database<string, Key>
  /** [tenant, path, type, attribute, type of the attribute] to the number of entities. */
  readonly attributeTypes: Database<string, Key>
  /** [expiration in ms, tenant, sequence] to the path and the id of an entity that expires. */
  readonly expirations: Database<string, Key>
  /** [tenant, level, cell, sequence] to the path and the id of an entity whose location lies in that cell, or partly. */
  readonly cells: Database<string, Key>
  /** Facts about the partition itself. */
  readonly facts: Database<string, Key>
  /** The four databases of the outbox, see `OutboxDatabases`. */
  readonly notices: Database<string, Key>
  readonly groups: Database<string, Key>
  readonly shown: Database<string, Key>
  readonly deliveryStats: Database<string, Key>
}

export interface EnvironmentSettings {
  readonly readOnly: boolean
  /** The size that the data may grow to. Twice that is reserved in the address space; the disk is used as needed. */
  readonly sizeMax_bytes: number
  /** Read transactions that may be open at one time, over all threads. */
  readonly maxReaders: number
}

/** How the only writer of an environment opens it and its log. */
export interface WriterSettings extends Omit<EnvironmentSettings, 'readOnly'> {
  /** Whether a change is on disk when it is acknowledged [management 9.3, -writeConcern]. */
  readonly durable: boolean
  /** The reserve of the disk: below it only removals are written. */
  readonly keepFree_bytes: number
  /** How many environments on the disk may be written at one moment, this one included. */
  readonly writers: number
}

/**
 * Opens the environment in a folder, which is made if it is missing. Threads of one process share it. What is wrong with
 * its file LMDB does not notice: `openDataFolder` has looked at it.
 */
export function openEnvironment(path: string, settings: EnvironmentSettings, flushes = false): Environment {
  return environmentOf(openRoot(path, settings, flushes))
}

/** The databases of an environment that is open; one that is missing is made, which is a commit. */
export function environmentOf(root: RootDatabase<string, Key>): Environment {
  return {
    root,
    records: openDatabase(root, 'records'),
    ids: openDatabase(root, 'ids'),
    types: openDatabase(root, 'types'),
    counts: openDatabase(root, 'counts'),
    attributeTypes: openDatabase(root, 'attributeTypes'),
    expirations: openDatabase(root, 'expirations'),
    cells: openDatabase(root, 'cells'),
    facts: openDatabase(root, 'facts'),
    notices: openDatabase(root, 'notices'),
    groups: openDatabase(root, 'groups'),
    shown: openDatabase(root, 'shown'),
    deliveryStats: openDatabase(root, 'deliveryStats'),
  }
}

/** One of the databases in an environment. */
export function openDatabase(root: RootDatabase<string, Key>, name: string): Database<string, Key> {
  return root.openDB({ name, encoding: 'string', cache: false })
}

/** The address space for free pages that checkpoints keep. */
const checkpointed_bytes = 2 ** 34

/** The address space of an environment whose data may grow to a size: pages that are free but not yet reused lie in the file as well. */
export function map_bytes(sizeMax_bytes: number): number {
  return 2 * sizeMax_bytes + checkpointed_bytes
}

/**
 * Opens an environment without its databases. With `flushes` a commit is on disk when it returns; without, whoever writes relies on a
 * log and on checkpoints. Throws `UnusableFile` when its files cannot be opened.
 */
export function openRoot(path: string, settings: EnvironmentSettings, flushes = false): RootDatabase<string, Key> {
  tryEnvironmentFiles(path, settings.readOnly)
  return open<string, Key>({
    path,
    readOnly: settings.readOnly,
    mapSize: map_bytes(settings.sizeMax_bytes),
    maxReaders: settings.maxReaders,
    maxDbs: 16,
    noSubdir: false, // A path with a dot in it would be taken for a file, not a folder.
    overlappingSync: false,
    noSync: !flushes,
    cache: false,
    encoding: 'string',
  })
}

/** Carries out a step of opening. If it throws, what was opened before is closed. */
export function orClose<Opened>(open: () => Opened, close: () => void): Opened {
  try {
    return open()
  } catch (fault) {
    close()
    throw fault
  }
}

/** The figures of LMDB that the broker uses; the library has no type for them. */
export interface Figures {
  readonly entryCount: number
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

/** The figures of one database. */
export function figuresOf(database: Database<string, Key>): Figures {
  const raw: Partial<Record<keyof Figures, unknown>> = database.getStats()
  const figure = (name: keyof Figures): number => Number(raw[name] ?? 0)
  return {
    entryCount: figure('entryCount'),
    pageSize: figure('pageSize'),
    treeBranchPageCount: figure('treeBranchPageCount'),
    treeLeafPageCount: figure('treeLeafPageCount'),
    overflowPages: figure('overflowPages'),
  }
}

/** The bytes of the pages that hold data now; pages that are free to be used again do not count. */
export function usedBytes({ root, ...databases }: Environment): number {
  let bytes = 0
  for (const database of Object.values(databases)) {
    const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = figuresOf(database)
    bytes += pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages)
  }
  return bytes
}
