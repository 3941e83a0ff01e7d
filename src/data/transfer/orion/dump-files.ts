import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { pathExists } from '../../../folder.js'
import type { Tenant } from '../../../model/context/entity.js'
import { parseTenant } from '../../../model/context/scope-headers.js'
import { CommandFailure } from '../../offline/command.js'
import type { Sourced } from '../items.js'

/** The collections of an Orion that are imported. */
export const collections = ['entities', 'csubs', 'registrations'] as const
export type Collection = (typeof collections)[number]

/** A file of a dump, with one collection of one tenant, or with all of them. */
export interface DumpFile {
  readonly path: string
  readonly form: 'bson' | 'json' | 'archive'
  /** Undefined for an archive, whose parts name their collections. */
  readonly of: { readonly tenant: Tenant; readonly collection: Collection } | undefined
}

/** The files of a dump, and what is said of files beside them that are not read. */
export interface Dump {
  readonly files: readonly DumpFile[]
  readonly ignored: readonly Sourced[]
}

/**
 * Finds the files of a dump: in a folder of mongodump, with a folder for each database or that of one database; in files of
 * mongoexport in the same layout; or in one file, of a collection or an archive. The name of the database gives the tenant:
 * `orion` is the default tenant, `orion-NAME` another one, where `orion` is the name that Orion was given with `-db`. Throws
 * `CommandFailure`.
 */
export function findDump(path: string, database: string): Dump {
  if (!pathExists(path)) throw new CommandFailure(`${path} is not there`)
  const found = statSync(path).isDirectory() ? inFolder(path, database) : oneFile(path, database)
  if (found.files.length === 0) {
    throw new CommandFailure(
      `${path} holds no ${collections.join(', ')} of a database ${database} or ${database}-TENANT: name a folder of mongodump, a file .bson or .json, or an archive, and the database with --db if it has another name`,
    )
  }
  return { ...found, files: found.files.toSorted((a, b) => rank(a) - rank(b)) }
}

/** Entities come first, as in an export. */
function rank({ of }: DumpFile): number {
  return of === undefined ? 0 : collections.indexOf(of.collection)
}

function inFolder(path: string, database: string): Dump {
  const direct = inDatabase(path, tenantOfDatabase(basename(resolve(path)), database) ?? ('' as Tenant))
  if (direct.files.length > 0) return direct
  const files: DumpFile[] = []
  const ignored: Sourced[] = []
  for (const name of readdirSync(path).sort()) {
    const folder = join(path, name)
    const isFolder = statSync(folder).isDirectory()
    const tenant = isFolder ? tenantOfDatabase(name, database) : undefined
    if (tenant !== undefined) {
      const found = inDatabase(folder, tenant)
      files.push(...found.files)
      ignored.push(...found.ignored)
    } else if (!unmissed.test(name)) {
      const other = isFolder ? otherDatabase(folder, name, database) : passedOver(folder, 'it is no part of a dump')
      if (other !== undefined) ignored.push(other)
    }
  }
  return { files, ignored }
}

/** The databases of MongoDB itself. */
const ownDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local'])

/** What is said of a database that is none of Orion's; nothing for one of MongoDB itself. */
export function otherDatabase(where: string, name: string, database: string): Sourced | undefined {
  if (ownDatabases.has(name)) return undefined
  if (name.startsWith(`${database}-`)) {
    return { kind: 'wrong', where, reason: `left out, since a tenant cannot have the characters of ${name}` }
  }
  return passedOver(
    where,
    `the database ${name} is none of Orion's, which are ${database} and ${database}-TENANT (see --db)`,
  )
}

/** What is said of a collection that is not imported, in a database of Orion. */
export function otherCollection(where: string, collection: string): Sourced | undefined {
  if (collection !== 'casubs') return passedOver(where, `${collection} is none of Orion's collections`)
  const reason = 'subscriptions to availability are left out: Orion itself has dropped them'
  return { kind: 'wrong', where, reason }
}

function passedOver(where: string, reason: string): Sourced {
  return { kind: 'passedOver', where, reason }
}

/** Whether a file of a collection has no documents. */
function holdsNothing(path: string): boolean {
  const { size } = statSync(path)
  return size === 0 || (path.endsWith('.gz') && size < 64 && gunzipSync(readFileSync(path)).length === 0)
}

/** Indexes of collections and internal files of servers, which are left out without a message. */
const unmissed = /\.metadata\.json(\.gz)?$|^system\.|^prelude\.json/

function inDatabase(path: string, tenant: Tenant): Dump {
  const files: DumpFile[] = []
  const ignored: Sourced[] = []
  for (const name of readdirSync(path).sort()) {
    const [, collection = '', form = ''] = /^([a-z]+)\.(bson|json)(?:\.gz)?$/.exec(name) ?? []
    const known = collections.find((each) => each === collection)
    if (known !== undefined && (form === 'bson' || form === 'json')) {
      files.push({ path: join(path, name), form, of: { tenant, collection: known } })
    } else if (!unmissed.test(name)) {
      const file = join(path, name)
      const other = holdsNothing(file) ? undefined : otherCollection(file, collection === '' ? name : collection)
      if (other !== undefined) ignored.push(other)
    }
  }
  return { files, ignored }
}

function oneFile(path: string, database: string): Dump {
  const tenant = tenantOfDatabase(basename(dirname(resolve(path))), database) ?? ('' as Tenant)
  const known = inDatabase(dirname(resolve(path)), tenant).files.filter((file) => file.path === resolve(path))
  if (known.length > 0) return { files: known, ignored: [] }
  if (/\.(bson|json)(\.gz)?$/.test(path)) {
    throw new CommandFailure(
      `${path} is named after no collection of Orion: name it ${collections.join(', ')}, for example entities.bson`,
    )
  }
  return { files: [{ path, form: 'archive', of: undefined }], ignored: [] }
}

/** The tenant of a database; undefined for one that is not Orion's. */
export function tenantOfDatabase(name: string, database: string): Tenant | undefined {
  if (name === database) return '' as Tenant
  if (!name.startsWith(`${database}-`)) return undefined
  const tenant = parseTenant(name.slice(database.length + 1), true)
  return tenant.ok ? tenant.value : undefined
}
