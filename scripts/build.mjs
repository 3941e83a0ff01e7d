// Builds dist from the sources. An installation without development packages (npm ci --omit=dev) has no compiler and no reader of
// YAML: when dist is missing or older than the sources there, the very ones that the lock file names are fetched into a folder of
// their own, used without the checks that need the types of other packages, and removed.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
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

/** When the youngest source was changed, in milliseconds since 1970. */
function youngestSource() {
  const folders = ['src', 'workers', 'bench', join('docs', 'openapi')]
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((path) => join(root, folder, path)),
  )
  return Math.max(...files.map((file) => statSync(file).mtimeMs))
}

function isUpToDate() {
  const facts = join(root, 'dist', 'build.json')
  return existsSync(facts) && statSync(facts).mtimeMs >= youngestSource()
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
const isFirst = !existsSync(join(root, 'dist', 'build.json'))
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
  if (installed !== undefined) {
    tell('Building Rigel, 1 of 2: compiling the sources, which takes half a minute to two minutes')
    run(installed, '--build')
    await finish(await import('yaml'))
  } else if (!isUpToDate()) await buildWithFetchedPackages()
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
