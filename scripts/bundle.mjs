// Makes the program that is installed and started: the modules of each thread, those of packages among them, in a few
// files, since most of what a start takes is the finding and reading of hundreds of them. Without the bundler, which is a
// development package, the program leads to the compiled modules.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeLicences } from './licences.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = join(root, 'dist', 'program')
/** Where the program is made. It takes the place of the one before when it is whole, so that nobody starts a part of it. */
const draft = join(root, 'dist', 'program.draft')
const threads = ['start-watch', 'partition', 'query', 'courier', 'front-end', 'log']

/**
 * Packages that find files of their own beside them (native code, the script of a thread), and one that is loaded only
 * when it is needed: the bundler hides the names that such a one exports, if it was not written as an ECMAScript module.
 */
const apart = ['lmdb', 'fs-native-extensions', 'piscina', '@grpc/grpc-js', '@grpc/proto-loader']

/** What modules of packages expect that were not written as ECMAScript modules. */
const surroundings = `import { createRequire as rigelRequireOf } from 'node:module'
import { dirname as rigelFolderOf } from 'node:path'
import { fileURLToPath as rigelPathOf } from 'node:url'
const require = rigelRequireOf(import.meta.url), __filename = rigelPathOf(import.meta.url), __dirname = rigelFolderOf(__filename)`

/**
 * How many threads flush files, look up names and read files, unless the operator says: one for the checkpoint of each partition
 * that flushes at the same moment, and some for all else.
 */
const poolThreads = 64

/** What is started. It is no ECMAScript module: before the first of those runs, the threads are made to read it. */
const entry = `#!/usr/bin/env node
process.env.UV_THREADPOOL_SIZE ??= '${poolThreads}'
import('./main.js')
`

/** The bundler of this tree; nothing without development packages. */
async function installedBundler() {
  try {
    return (await import('esbuild')).build
  } catch (fault) {
    if (fault.code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw fault
  }
}

/** Gives the paths of what went into it. The depth of the chunks is that of the rooms in src, from which threads are found. */
async function bundle(build) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/main.ts', ...threads.map((name) => `workers/${name}.ts`)],
    outbase: root,
    outdir: draft,
    chunkNames: 'src/chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    external: apart,
    platform: 'node',
    format: 'esm',
    target: 'node20.15',
    banner: { js: surroundings },
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
  })
  for (const { entryPoint = '' } of Object.values(metafile.outputs)) {
    if (entryPoint.includes('node_modules'))
      throw new Error(
        `${entryPoint} is loaded when it is needed: load a module of ours that imports it, or add it to 'apart'`,
      )
  }
  return Object.keys(metafile.inputs)
}

rmSync(draft, { recursive: true, force: true })
mkdirSync(join(draft, 'src'), { recursive: true })
const build = await installedBundler()
if (build !== undefined) {
  writeLicences(draft, await bundle(build))
} else {
  writeFileSync(join(draft, 'src', 'main.js'), "#!/usr/bin/env node\nimport '../../src/main.js'\n")
}
writeFileSync(join(draft, 'src', 'main.cjs'), entry)

const before = join(root, 'dist', 'program.before')
rmSync(before, { recursive: true, force: true })
if (existsSync(program)) renameSync(program, before)
renameSync(draft, program)
rmSync(before, { recursive: true, force: true })

await import('./bundle-page.mjs')
