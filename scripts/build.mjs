// Builds dist from the sources. An installation without development packages (npm ci --omit=dev) has no compiler: when
// dist is missing or older than the sources there, the very compiler that the lock file names is fetched into a folder of
// its own, used without the checks that need the types of other packages, and removed.
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
  const folders = ['src', 'workers', 'bench']
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((path) => join(root, folder, path)),
  )
  return Math.max(...files.map((file) => statSync(file).mtimeMs))
}

function isUpToDate() {
  const facts = join(root, 'dist', 'build.json')
  return existsSync(facts) && statSync(facts).mtimeMs >= youngestSource()
}

/** Compiles with a compiler that is fetched for it, whose files are those that the lock file vouches for. */
function buildWithFetchedCompiler() {
  const { version, integrity } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages[
    'node_modules/typescript'
  ]
  const folder = mkdtempSync(join(tmpdir(), 'rigel-build-'))
  try {
    process.stderr.write(`Building with TypeScript ${version}, which is fetched for this build only.\n`)
    const words = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund']
    execFileSync('npm', [...words, `typescript@${version}`], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    const fetched = JSON.parse(readFileSync(join(folder, 'node_modules', '.package-lock.json'), 'utf8'))
    if (fetched.packages['node_modules/typescript'].integrity !== integrity) {
      throw new Error(`TypeScript ${version} as it was fetched is not what package-lock.json names: nothing was built`)
    }
    run(join(folder, compiler), '--project', join(root, 'scripts', 'tsconfig.unchecked.json'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const installed = installedCompiler()
if (installed !== undefined) run(installed, '--build')
else if (!isUpToDate()) buildWithFetchedCompiler()
if (installed !== undefined || !isUpToDate()) {
  await import('./prune-dist.mjs')
  await import('./bundle.mjs')
  await import('./build-facts.mjs')
}
