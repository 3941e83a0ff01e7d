// Makes the program that is installed and started: the modules of each thread, those of packages among them, in one file, with the code
// that V8 compiles of it, since most of what a start takes is the finding, reading and compiling of hundreds of modules. Without the
// bundler, which is a development package, the program leads to the compiled modules.
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keepCode } from './compiled-code.mjs'
import { writeLicences } from './licences.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = join(root, 'dist', 'program')
/** Where the program is made. It takes the place of the one before when it is whole, so that nobody starts a part of it. */
const draft = join(root, 'dist', 'program.draft')
/** As deep as the modules of the rooms in src, from which the entries of threads are found. */
const bundles = join(draft, 'src', 'bundles')
const threads = ['start-watch', 'partition', 'query', 'courier', 'front-end', 'log']

/** Packages that find files of their own beside them: native code, the script of a thread, definitions of messages. */
const apart = ['fs-native-extensions', 'piscina', '@grpc/grpc-js', '@grpc/proto-loader']

/** The modules that the main thread loads when they are needed, as modules of `src/runtime` import them. */
const parts = new Map([
  ['life', './life.js'],
  ['data-commands', './commands/data-commands.js'],
  ['cluster-look', './commands/cluster-look.js'],
])

/** What stands in the bundles in place of some modules. */
const replaced = new Map([
  // To load its caches, proxies, web sockets and its own fetch takes a tenth of the processor time of a start.
  [
    'undici',
    `Object.assign(require('undici/lib/dispatcher/dispatcher').prototype, require('undici/lib/api'))
    exports.Client = require('undici/lib/dispatcher/client')
    exports.buildConnector = require('undici/lib/core/connect')`,
  ],
  // To find and compile its modules in each thread takes a fifteenth of a start.
  ['lmdb', "module.exports = require('./node_modules/lmdb/dist/index.cjs')"],
  // lmdb has it look for native code beside the module that calls it.
  [
    'node-gyp-build-optional-packages',
    `const { dirname } = require('node:path')
    const found = require('node:module').createRequire(rigelBundleUrl).resolve('lmdb')
    module.exports = () => require('node-gyp-build-optional-packages/node-gyp-build.js')(dirname(dirname(found)))`,
  ],
  // lmdb would encode by it what is not stored as bytes.
  ['msgpackr', "exports.Encoder = class { constructor() { throw new Error('values are stored as bytes') } }"],
  ['./commands/import-module.js', 'exports.importModule = rigelImport'],
  // A module that is imported when it is needed makes all that it shares with others slower in one bundle with them.
  ...[...parts].map(([name, path]) => [path, `module.exports = rigelLoad('${name}')`]),
])

const replacing = {
  name: 'replaced modules',
  setup(bundler) {
    const namespace = 'replaced'
    bundler.onResolve({ filter: /./ }, ({ path }) => (replaced.has(path) ? { path, namespace } : undefined))
    bundler.onLoad({ filter: /./, namespace }, ({ path }) => ({ resolveDir: root, contents: replaced.get(path) }))
  },
}

/** The bundler of this tree; nothing without development packages. */
async function installedBundler() {
  try {
    return (await import('esbuild')).build
  } catch (fault) {
    if (fault.code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw fault
  }
}

/** Gives the paths of what went into the bundles. Each is a function of what Node gives a CommonJS module. */
async function bundle(build) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      program: 'src/runtime/program.ts',
      ...Object.fromEntries(
        Array.from(parts, ([name, path]) => [name, join('src/runtime', path.replace(/js$/, 'ts'))]),
      ),
      ...Object.fromEntries(threads.map((name) => [name, `workers/${name}.ts`])),
    },
    outdir: bundles,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    external: apart,
    plugins: [replacing],
    platform: 'node',
    format: 'cjs',
    target: 'node20.15',
    define: { 'import.meta.url': 'rigelBundleUrl' },
    banner: {
      js: `(function (exports, require, module, __filename, __dirname, rigelImport, rigelLoad) {
const rigelBundleUrl = require('node:url').pathToFileURL(__filename).href`,
    },
    footer: { js: '})' },
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
  })
  return Object.keys(metafile.inputs)
}

/** The file that a thread of the pool begins with: it looks for an ECMAScript module there. */
function writeThreadEntry(name) {
  const text = `import load from '../src/load.cjs'\n\nexport default load('${name}').default\n`
  writeFileSync(join(draft, 'workers', `${name}.js`), text)
}

async function makeProgram(build) {
  for (const folder of [bundles, join(draft, 'workers')]) mkdirSync(folder, { recursive: true })
  writeLicences(draft, await bundle(build))
  threads.forEach(writeThreadEntry)
  copyFileSync(join(root, 'scripts', 'program', 'load.cjs'), join(draft, 'src', 'load.cjs'))
}

rmSync(draft, { recursive: true, force: true })
mkdirSync(join(draft, 'src'), { recursive: true })
copyFileSync(join(root, 'scripts', 'program', 'main.cjs'), join(draft, 'src', 'main.cjs'))
const build = await installedBundler()
if (build !== undefined) {
  await makeProgram(build)
  await keepCode(draft)
} else {
  writeFileSync(join(draft, 'src', 'load.cjs'), "module.exports = () => import('../../src/runtime/program.js')\n")
}

const before = join(root, 'dist', 'program.before')
rmSync(before, { recursive: true, force: true })
if (existsSync(program)) renameSync(program, before)
renameSync(draft, program)
rmSync(before, { recursive: true, force: true })

await import('./bundle-page.mjs')
