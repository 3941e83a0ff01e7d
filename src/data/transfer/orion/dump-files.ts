import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Tenant } from '../../../model/context/entity.js'
import { parseTenant } from '../../../model/context/scope-headers.js'
import { CommandFailure } from '../../offline/command.js'

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

/** The files of a dump, and files beside them that are not read. */
export interface Dump {
  readonly files: readonly DumpFile[]
  readonly ignored: readonly string[]
}

/**
 * Finds the files of a dump: in a folder of mongodump, with a folder for each database or that of one database; in files of
 * mongoexport in the same layout; or in one file, of a collection or an archive. The name of the database gives the tenant:
 * `orion` is the default tenant, `orion-NAME` another one, where `orion` is the name that Orion was given with `-db`. Throws
 * `CommandFailure`.
 */
export function findDump(path: string, database: string): Dump {
  if (!existsSync(path)) throw new CommandFailure(`${path} is not there`)
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
  const ignored: string[] = []
  for (const name of readdirSync(path).sort()) {
    const folder = join(path, name)
    const tenant = statSync(folder).isDirectory() ? tenantOfDatabase(name, database) : undefined
    const found = tenant === undefined ? undefined : inDatabase(folder, tenant)
    files.push(...(found?.files ?? []))
    ignored.push(...(found?.ignored ?? [folder]))
  }
  return { files, ignored }
}

/** Indexes of collections and internal files of servers, which are left out without a message. */
const unmissed = /\.metadata\.json(\.gz)?$|^system\.|^prelude\.json/

function inDatabase(path: string, tenant: Tenant): Dump {
  const files: DumpFile[] = []
  const ignored: string[] = []
  for (const name of readdirSync(path).sort()) {
    const [, collection = '', form = ''] = /^([a-z]+)\.(bson|json)(?:\.gz)?$/.exec(name) ?? []
    const known = collections.find((each) => each === collection)
    if (known !== undefined && (form === 'bson' || form === 'json')) {
      files.push({ path: join(path, name), form, of: { tenant, collection: known } })
    } else if (!unmissed.test(name)) ignored.push(join(path, name))
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
