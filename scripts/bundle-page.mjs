// Makes the console for browsers: its program in a few files, of which the later ones are loaded when a page needs them,
// one style, and the page that names both. The names carry a digest of the content, so that browsers may keep a file for
// ever, and beside each one stands what is sent to those who take gzip. Without the bundler there is no console.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { constants, gzipSync } from 'node:zlib'
import { commit } from './commit.mjs'
import { writeLicences } from './licences.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = join(root, 'dist', 'console')

/** What a browser loads before it shows the first page, and what it loads in all, packed. */
const limits_bytes = { first: 80_000, all: 130_000 }

/** The files that are loaded with one, by name: those that it imports at once, and theirs. */
function closure(outputs, path, seen = new Set()) {
  if (seen.has(path)) return seen
  seen.add(path)
  for (const { path: next, kind } of outputs[path].imports)
    if (kind === 'import-statement') closure(outputs, next, seen)
  return seen
}

function outputOf(outputs, source) {
  const [path] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === source) ?? []
  if (path === undefined) throw new Error(`nothing was made of ${source}`)
  return path
}

/** Writes what is sent to those who take gzip, and gives its size in bytes. */
function pack(name) {
  const packed = gzipSync(readFileSync(join(folder, name)), { level: constants.Z_BEST_COMPRESSION })
  writeFileSync(join(folder, `${name}.gz`), packed)
  return packed.length
}

function checkSizes(first, sizes) {
  const sum = (names) => names.reduce((bytes, name) => bytes + (sizes.get(name) ?? 0), 0)
  const reached = { first: sum(first), all: sum([...sizes.keys()]) }
  for (const [what, limit_bytes] of Object.entries(limits_bytes)) {
    if (reached[what] <= limit_bytes) continue
    const listed = [...sizes].map(([name, bytes]) => `  ${bytes} ${name}`).join('\n')
    throw new Error(`the console takes ${reached[what]} bytes (${what}), more than ${limit_bytes}:\n${listed}`)
  }
}

const page = 'src/api/console/page'

/** What is built, without the files: they are written when it is known which modules go together. */
const options = {
  absWorkingDir: root,
  entryPoints: [`${page}/console.tsx`, `${page}/console.css`, `${page}/icon.svg`],
  outdir: folder,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  loader: { '.svg': 'copy' },
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome109', 'firefox115', 'safari16.4'],
  tsconfigRaw: { compilerOptions: { jsx: 'react-jsx', jsxImportSource: 'preact' } },
  legalComments: 'linked',
  metafile: true,
  logLevel: 'warning',
  write: false,
}

/** The scripts that are loaded before the first page is shown, by the names of their files. */
function firstScripts(outputs) {
  const opened = [`${page}/console.tsx`, `${page}/overview/overview-page.tsx`].map((source) =>
    outputOf(outputs, source),
  )
  return [...new Set(opened.flatMap((path) => [...closure(outputs, path)]))]
}

/**
 * Puts the modules of the first view into one file. The bundler makes a file of those that the same pages need, which are many small
 * ones, and a browser takes six at a time: so every page is made to need all that is loaded by then anyway.
 */
function oneFirstView({ outputs }) {
  const entries = Object.values(outputs).flatMap(({ entryPoint }) => entryPoint ?? [])
  const modules = firstScripts(outputs).flatMap((path) => Object.keys(outputs[path].inputs))
  // Packages come with the modules of ours that need them.
  const shared = modules.filter((module) => module.startsWith(page) && !entries.includes(module))
  const needed = shared.map((module) => `import ${JSON.stringify(join(root, module))}`).join('\n')
  return {
    name: 'one-first-view',
    setup({ onLoad }) {
      onLoad({ filter: /\.tsx$/ }, ({ path }) => {
        if (!entries.includes(relative(root, path))) return undefined
        return { contents: `${readFileSync(path, 'utf8')}\n${needed}\n`, loader: 'tsx' }
      })
    },
  }
}

async function bundle({ build }) {
  const { metafile: separate } = await build(options)
  const { metafile } = await build({ ...options, plugins: [oneFirstView(separate)], write: true })
  writeLicences(folder, Object.keys(metafile.inputs))
  const { outputs } = metafile
  const name = (path) => basename(relative(root, path))
  const [script, style, icon] = ['console.tsx', 'console.css', 'icon.svg'].map((source) =>
    outputOf(outputs, `${page}/${source}`),
  )
  const scripts = firstScripts(outputs).map(name)
  // The browser would find out one after the other which files it needs.
  const preloaded = scripts
    .filter((each) => each !== name(script))
    .map((each) => `<link rel="modulepreload" href="/console/${each}">`)
  const index = readFileSync(join(root, page, 'index.html'), 'utf8')
    .replace('BUILD', `${version} ${commit}`)
    .replace('SCRIPT', name(script))
    .replace('STYLE', name(style))
    .replace('ICON', name(icon))
    .replace('PRELOADED', preloaded.join('\n'))
  writeFileSync(join(folder, 'index.html'), index)
  const served = readdirSync(folder).filter((each) => /\.(html|js|css|svg)$/.test(each))
  const sizes = new Map(served.map((each) => [each, pack(each)]))
  checkSizes([...scripts, name(style), name(icon), 'index.html'], sizes)
}

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
try {
  await bundle(await import('esbuild'))
} catch (fault) {
  if (fault.code !== 'ERR_MODULE_NOT_FOUND') throw fault
}
