import { existsSync, readFileSync, statSync } from 'node:fs'
import { machine } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))

/** The file that says what the package is. */
const packageFile = foundUpwards('package.json') ?? join(here, 'package.json')

/** What the program says of itself, under the names that clients read; all texts [management 8.1]. */
interface VersionFacts {
  readonly version: string
  /** 40 hexadecimal digits or `nogitversion`. */
  readonly git_hash: string
  readonly compile_time: string
  readonly compiled_by: 'rigel'
  readonly compiled_in: string
  readonly release_date: string
  readonly machine: string
  /** Address of the manual: the home page that the package names. */
  readonly doc: string
}

const noGitVersion = 'nogitversion'

/** Read once from the package and from what its build noted in `dist/build.json`. */
export const versionFacts: VersionFacts = Object.freeze(readVersion(packageFile))

/** The names of the libraries that the broker is made of to their versions, `node` first [management 8.1]. */
export function libraryVersions(): Readonly<Record<string, string>> {
  const { dependencies } = readObject(packageFile)
  const names = typeof dependencies === 'object' && dependencies !== null ? Object.keys(dependencies) : []
  return Object.fromEntries([
    ['node', process.versions.node],
    ...names.map((name) => [name, libraryVersion(name)] as const),
  ])
}

/** The text of `-v` [management 9.2]. */
export function versionText(): string {
  const platform = `${process.platform} ${versionFacts.machine}`
  return `rigel ${builtVersion()}\n${versionFacts.compiled_in}, lmdb ${libraryVersion('lmdb')}, ${platform}\n`
}

/** The version and the commit that was built, for people: `0.4.0 (git 9c1f0e5)`. */
export function builtVersion(): string {
  const { version, git_hash } = versionFacts
  return `${version} (git ${git_hash === noGitVersion ? git_hash : git_hash.slice(0, 7)})`
}

/** The facts that stand in a package file and in the notes of the build beside it. */
export function readVersion(file: string): VersionFacts {
  const { version, homepage } = readObject(file)
  const noted = readObject(join(dirname(file), 'dist', 'build.json'))
  const hash = typeof noted['git_hash'] === 'string' ? noted['git_hash'] : ''
  const compile_time = dateText(noted['compile_time']) ?? dateText(statSync(file, { throwIfNoEntry: false })?.mtime)
  return {
    version: typeof version === 'string' ? version : '0.0.0',
    git_hash: /^[0-9a-f]{40}$/.test(hash) ? hash : noGitVersion,
    compile_time: compile_time ?? '',
    compiled_by: 'rigel',
    compiled_in: `node ${process.version}`,
    release_date: compile_time ?? '',
    machine: machine(),
    doc: typeof homepage === 'string' ? homepage : '',
  }
}

/** To the second, as `2026-02-03T09:12:44Z`. */
function dateText(date: unknown): string | undefined {
  const time = date instanceof Date ? date.getTime() : typeof date === 'string' ? Date.parse(date) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
}

function libraryVersion(name: string): string {
  const file = foundUpwards(join('node_modules', name, 'package.json'))
  const { version } = file === undefined ? {} : readObject(file)
  return typeof version === 'string' ? version : 'unknown'
}

/** A program without its notes still runs: what can not be read holds nothing. */
function readObject(file: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** Where the build has put a file. */
export function builtFile(path: string): string {
  return join(dirname(packageFile), 'dist', path)
}

/** Looked for from this file upwards: the program may run joined or in modules, from the sources' folder or where it was installed. */
function foundUpwards(path: string): string | undefined {
  for (let folder = here; ; folder = dirname(folder)) {
    if (existsSync(join(folder, path))) return join(folder, path)
    if (folder === dirname(folder)) return undefined
  }
}
