// Builds dist from the sources. An installation without development packages (npm ci --omit=dev) has no compiler and no reader of
// YAML: when dist is missing or older than the sources there, the very ones that the lock file names are fetched into a folder of
// their own, used without the checks that need the types of other packages, and removed.
//
// `--when-changed` does nothing while dist is that of the sources. `npm start` and the tests build so: a broker that runs from this
// folder loads files of dist until it ends.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tryLock, waitForLock } from 'fs-native-extensions'
import { commit, unknownCommit } from './commit.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const facts = join(root, 'dist', 'build.json')
const compiler = join('node_modules', 'typescript', 'bin', 'tsc')

/** The compiler of this tree; nothing without development packages. */
function installedCompiler() {
  try {
    return createRequire(import.meta.url).resolve('typescript/bin/tsc')
  } catch {
    return undefined
  }
}

function run(script, ...words) {
  execFileSync(process.execPath, [script, ...words], { cwd: root, stdio: 'inherit' })
}

/** When the youngest file was changed of which dist is made, in milliseconds since 1970. A folder counts for what was removed from it. */
function youngestSource() {
  const named = ['src', 'workers', 'bench', 'test', 'scripts', join('docs', 'openapi')].map((path) => join(root, path))
  // The image is built without the tests.
  const folders = named.filter((folder) => existsSync(folder))
  const inFolders = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((path) => join(folder, path)),
  )
  const files = ['package.json', 'package-lock.json', 'tsconfig.json'].map((path) => join(root, path))
  return Math.max(
    ...[...folders, ...inFolders, ...files].map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0),
  )
}

function isUpToDate() {
  if (!existsSync(facts) || statSync(facts).mtimeMs < youngestSource()) return false
  return commit === unknownCommit || JSON.parse(readFileSync(facts, 'utf8')).git_hash === commit
}

/** Waits until no other build writes to dist. The system releases the lock when the process ends, however it ends. */
async function lockDist() {
  mkdirSync(join(root, 'dist'), { recursive: true })
  const file = openSync(join(root, 'dist', '.lock'), 'a+')
  if (tryLock(file)) return
  process.stderr.write('Another build of this folder is under way. This one begins when that one has ended.\n')
  await waitForLock(file)
}

/** Fetches packages into a folder, whose files are those that the lock file vouches for. */
function fetchInto(folder, names) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const wanted = names.map((name) => ({ name, ...packages[`node_modules/${name}`] }))
  const words = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund']
  const versions = wanted.map(({ name, version }) => `${name}@${version}`)
  process.stderr.write(`Building with ${versions.join(' and ')}, which are fetched for this build only.\n`)
  execFileSync('npm', [...words, ...versions], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  const fetched = JSON.parse(readFileSync(join(folder, 'node_modules', '.package-lock.json'), 'utf8'))
  for (const { name, version, integrity } of wanted) {
    if (fetched.packages[`node_modules/${name}`].integrity === integrity) continue
    throw new Error(`${name} ${version} as it was fetched is not what package-lock.json names: nothing was built`)
  }
}

async function buildWithFetchedPackages() {
  const folder = mkdtempSync(join(tmpdir(), 'rigel-build-'))
  try {
    fetchInto(folder, ['typescript', 'yaml'])
    run(join(folder, compiler), '--project', join(root, 'scripts', 'tsconfig.unchecked.json'))
    await finish(createRequire(join(folder, 'package.json'))('yaml'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Tells what the first build does, which takes a while; later ones are short. */
const isFirst = !existsSync(facts)
function tell(what) {
  if (isFirst) process.stderr.write(`${what}\n`)
}

/** What follows the compiler. */
async function finish(yaml) {
  tell('Building Rigel, 2 of 2: reference, program and console')
  await import('./prune-dist.mjs')
  const { writeReference } = await import('./reference.mjs')
  await writeReference('dist', yaml)
  await import('./bundle.mjs')
  await import('./build-facts.mjs')
}

async function build() {
  const installed = installedCompiler()
  const isOnDemand = process.argv.includes('--when-changed') || installed === undefined
  if (isOnDemand && isUpToDate()) return
  await lockDist()
  if (isOnDemand && isUpToDate()) return
  const began = new Date()
  if (installed !== undefined) {
    tell('Building Rigel, 1 of 2: compiling the sources, which takes half a minute to two minutes')
    run(installed, '--build')
    await finish(await import('yaml'))
  } else await buildWithFetchedPackages()
  // A source that was changed during the build is younger than the build.
  utimesSync(facts, began, began)
}

/** Ends a build that failed. What an earlier build has made stays, and whoever starts it should know. */
function end(fault) {
  // The compiler has shown its own errors.
  const isOfCompiler = fault instanceof Error && 'status' in fault
  if (!isOfCompiler) process.stderr.write(`${fault instanceof Error ? fault.stack : fault}\n`)
  const left = isFirst ? '' : ' dist still has the program of the last build that succeeded, without the changes since.'
  process.stderr.write(`The build has failed.${left}\n`)
  process.exit(1)
}

await build().catch(end)
