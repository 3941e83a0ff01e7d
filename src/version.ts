import { existsSync, readFileSync, statSync } from 'node:fs'
import { machine } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the program says of itself [management 8.1]. */
export interface VersionFacts {
  readonly version: string
  /** 40 hexadecimal digits or `nogitversion`. */
  readonly gitHash: string
  readonly compileTime: string
  readonly releaseDate: string
  readonly machine: string
  readonly node: string
}

const noGitVersion = 'nogitversion'
const here = dirname(fileURLToPath(import.meta.url))
const packageFile = foundUpwards('package.json') ?? join(here, 'package.json')

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
  const { version, gitHash, node } = versionFacts
  const hash = gitHash === noGitVersion ? gitHash : gitHash.slice(0, 7)
  const platform = `${process.platform} ${versionFacts.machine}`
  return `rigel ${version} (git ${hash})\nnode ${node}, lmdb ${libraryVersion('lmdb')}, ${platform}\n`
}

/** The facts that stand in a package file and in the notes of the build beside it. */
export function readVersion(file: string): VersionFacts {
  const { version } = readObject(file)
  const { git_hash, compile_time } = readObject(join(dirname(file), 'dist', 'build.json'))
  const noted = typeof compile_time === 'string' ? Date.parse(compile_time) : Number.NaN
  const compiled = Number.isNaN(noted) ? (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) : noted
  const compileTime = new Date(compiled).toISOString().replace(/\.\d+Z$/, 'Z')
  return {
    version: typeof version === 'string' ? version : '0.0.0',
    gitHash: typeof git_hash === 'string' && /^[0-9a-f]{40}$/.test(git_hash) ? git_hash : noGitVersion,
    compileTime,
    releaseDate: compileTime,
    machine: machine(),
    node: process.version,
  }
}

function libraryVersion(name: string): string {
  const file = foundUpwards(join('node_modules', name, 'package.json'))
  const { version } = file === undefined ? {} : readObject(file)
  return typeof version === 'string' ? version : 'unknown'
}

/** Looked for from this file upwards, since the program may run from the sources' folder, `dist` or where it was installed. */
function foundUpwards(path: string): string | undefined {
  for (let folder = here; ; folder = dirname(folder)) {
    if (existsSync(join(folder, path))) return join(folder, path)
    if (folder === dirname(folder)) return undefined
  }
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
