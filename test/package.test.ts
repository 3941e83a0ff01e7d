import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { t as file, test } from 'tap'
import { freePort } from '../bench/free-port.js'
import { pages } from './documented-pages.js'
import { installPackage, pack, root } from './packed.js'
import { RunningBroker } from './running.js'

const packedIn = file.testdir()
const { filename, files } = pack(packedIn)

test('the package has the program, the benchmarks and what the build noted, and neither maps nor compiled code', async (t) => {
  const paths = files.map(({ path }) => path)
  const needed = [
    'dist/program/src/main.cjs',
    'dist/bench/run.js',
    'dist/bench/feed.js',
    'dist/build.json',
    'README.md',
  ]
  for (const path of needed) t.ok(paths.includes(path), path)
  t.same(
    paths.filter((path) => /\.(map|code)$/.test(path) || /^(dist\/)?test\//.test(path)),
    [],
  )
})

test('what the pages of the package say about deployment is in it', (t) => {
  const paths = new Set(files.map(({ path }) => path))
  for (const [page, text] of pages) {
    if (!paths.has(page)) continue
    for (const [named] of text.matchAll(
      /\bDockerfile\b|(?<![\w/])(?:compose(?:\.cluster)?\.yaml|deploy\/[\w./-]*\w)/g,
    )) {
      t.ok(paths.has(named) || [...paths].some((path) => path.startsWith(`${named}/`)), `${page}: ${named}`)
    }
  }
  t.end()
})

test('the program is in a few files, since each one that is read makes the start longer', (t) => {
  const program = join(root, 'dist', 'program')
  const files = readdirSync(program, { recursive: true, encoding: 'utf8' }).filter((path) => /\.c?js$/.test(path))
  t.ok(files.length < 60, `${files.length} files`)
  for (const name of ['partition', 'query', 'courier', 'front-end'])
    t.ok(files.includes(join('workers', `${name}.js`)), name)
  t.end()
})

test('this Node takes the code that the build has compiled of each bundle, with what a run has called', (t) => {
  const bundles = join(root, 'dist', 'program', 'src', 'bundles')
  const names = readdirSync(bundles).filter((name) => name.endsWith('.cjs'))
  t.ok(names.length > 5, `${names.length} bundles`)
  // Other tests of this process have changed flags of V8.
  const looking = `const { readFileSync } = require('node:fs')
    const looked = process.argv.slice(1).map((path) => {
      const [source, cachedData] = [readFileSync(path, 'utf8'), readFileSync(path + '.code')]
      const isTaken = !new vm.Script(source, { cachedData }).cachedDataRejected
      return { isTaken, hasRun: cachedData.length > 1.2 * new vm.Script(source).createCachedData().length }
    })
    process.stdout.write(JSON.stringify(looked))`
  const paths = names.map((name) => join(bundles, name))
  const seen = execFileSync(process.execPath, ['-e', looking, ...paths], { env: {}, encoding: 'utf8' })
  const hasRun = (name: string) => /^(program|life|partition|query|courier|front-end)\./.test(name)
  t.same(
    JSON.parse(seen),
    names.map((name) => ({ isTaken: true, hasRun: hasRun(name) })),
    names.join(),
  )
  t.end()
})

test('what is installed from the package serves, knows its build, and has its commands', async (t) => {
  const folder = t.testdir()
  const program = join(installPackage(folder, join(packedIn, filename)), 'dist', 'program', 'src', 'main.cjs')
  const outputOf = (...words: readonly string[]) =>
    execFileSync(process.execPath, [program, ...words], { encoding: 'utf8' })
  t.match(outputOf('version'), /^rigel \d+\.\d+\.\d+ \(git ([0-9a-f]{7}|nogitversion)\)\n/)
  t.match(outputOf('help', 'bench'), /^Usage: rigel bench /)
  t.match(outputOf('feed', '--help'), /^Usage: rigel feed /)
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), [], { program })
  await broker.endsInOrder(t)
})

test('on a terminal the broker says what runs, and its log is for people', async (t) => {
  const folder = t.testdir()
  const port = await freePort()
  // "exec", since not every shell becomes its last command: one that stays ends by Ctrl-C too, and says so instead of the broker.
  const words = `exec ${process.execPath} ${join(root, 'dist/program/src/main.cjs')} -port ${port} -dbPath ${join(folder, 'data')} -logLevel INFO`
  const terminal = spawn('script', ['-qec', words, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => terminal.kill('SIGKILL'))
  let shown = ''
  const ready = new Promise<void>((resolve) => {
    terminal.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString()
      if (shown.includes('see -adminToken, -adminOpen')) resolve()
    })
  })
  await ready
  terminal.stdin.write('\u0003') // Ctrl-C
  // Not its exit, behind which some of what it wrote may come.
  t.same(await once(terminal, 'close'), [0, null])
  t.match(shown, `  address       http://localhost:${port}, on all addresses`)
  t.match(shown, `  console       http://localhost:${port}/console`)
  t.match(shown, `  reference     http://localhost:${port}/docs`)
  t.match(shown, 'is ready. Ctrl-C ends it.')
  t.match(shown, `  data          ${join(folder, 'data')}, `)
  t.match(shown, '  updates       on disk before their response')
  t.match(shown, '  clients       everybody who reaches it: -apiKeys asks for keys')
  t.match(
    shown,
    `  management    figures and trace levels for all on port ${port}, all else for this machine: see -adminToken`,
  )
  t.match(shown, 'SIGINT: ending in order')
  t.notMatch(shown, '{"time"')
})
