// Runs some tests at once, of the sources as they stand: what was changed is translated without a check of its types, which takes
// longer than the tests. The translation stands beside dist, which only the compiler writes.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { writeReference } from './reference.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = '.quick'
const folders = ['src', 'workers', 'bench', 'test']

/** When a file was changed, in milliseconds since 1970; 0 when there is none. */
function changed_ms(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function translated(path) {
  return join(output, path.replace(/\.tsx?$/, '.js'))
}

process.chdir(root)
mkdirSync(output, { recursive: true })
const sources = folders
  .flatMap((folder) => readdirSync(folder, { recursive: true }).map((path) => join(folder, path)))
  .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
const kept = new Set(sources.map(translated))
for (const path of readdirSync(output, { recursive: true }).map((each) => join(output, each))) {
  if (path.endsWith('.js') && !kept.has(path)) rmSync(path)
}
const stale = sources.filter((path) => changed_ms(path) > changed_ms(translated(path)))
if (stale.length > 0) {
  await build({
    entryPoints: stale,
    outbase: '.',
    outdir: output,
    bundle: false,
    format: 'esm',
    platform: 'node',
    target: 'node20.15',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    sourcemap: true,
    logLevel: 'warning',
  })
}
const described = readdirSync(join('docs', 'openapi')).map((name) => join('docs', 'openapi', name))
const flags = sources.filter((path) => path.startsWith(join('src', 'flags')))
if ([...described, ...flags].some((path) => changed_ms(path) > changed_ms(join('dist', 'openapi.json')))) {
  await writeReference(output, await import('yaml'))
}
const words = process.argv.slice(2)
const { status } = spawnSync(process.execPath, [join(output, 'test', 'runner', 'main.js'), ...words], {
  stdio: 'inherit',
})
process.exit(status ?? 1)
