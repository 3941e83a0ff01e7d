import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { freePort } from '../bench/free-port.js'
import { ConsoleTab, needsBrowser, startBrowser } from './console/browser.js'
import { RunningBroker } from './running.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Packed {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** Packs the tree as it stands, without building it again: tests of other files use what is built. */
function pack(folder: string): Packed {
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const [packed] = JSON.parse(execFileSync('npm', words, { cwd: root, encoding: 'utf8' })) as readonly Packed[]
  if (packed === undefined) throw new Error('npm packed nothing')
  return packed
}

/** Unpacks the package into a folder, and in it what it depends on, without what it is developed with; gives where it is. */
function install(folder: string): string {
  const { filename } = pack(folder)
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', folder])
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: true }>>
  }
  const place = join(folder, 'package')
  for (const [path, { dev }] of Object.entries(lock.packages)) {
    if (path === '' || dev === true || !existsSync(join(root, path))) continue
    if (path.lastIndexOf('node_modules/') > 0) continue // It comes with the package that it is in.
    cpSync(join(root, path), join(place, path), { recursive: true })
  }
  return place
}

test('the package has the program, the benchmarks and what the build noted, and no maps', async (t) => {
  const paths = pack(t.testdir()).files.map(({ path }) => path)
  const needed = [
    'dist/program/src/main.cjs',
    'dist/bench/run.js',
    'dist/bench/feed.js',
    'dist/build.json',
    'README.md',
  ]
  for (const path of needed) t.ok(paths.includes(path), path)
  t.same(
    paths.filter((path) => path.endsWith('.map') || /^(dist\/)?test\//.test(path)),
    [],
  )
})

test('the program is in a few files, since each one that is read makes the start longer', (t) => {
  const program = join(root, 'dist', 'program')
  const files = readdirSync(program, { recursive: true, encoding: 'utf8' }).filter((path) => /\.c?js$/.test(path))
  t.ok(files.length < 60, `${files.length} files`)
  for (const name of ['partition', 'query', 'courier', 'front-end'])
    t.ok(files.includes(join('workers', `${name}.js`)), name)
  t.end()
})

test('what is installed from the package serves, knows its build, and has its commands', async (t) => {
  const folder = t.testdir()
  const program = join(install(folder), 'dist', 'program', 'src', 'main.cjs')
  const said = (...words: readonly string[]) =>
    execFileSync(process.execPath, [program, ...words], { encoding: 'utf8' })
  t.match(said('version'), /^rigel \d+\.\d+\.\d+ \(git ([0-9a-f]{7}|nogitversion)\)\n/)
  t.match(said('help', 'bench'), /^rigel bench /)
  t.match(said('feed', '--help'), /^rigel feed /)
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), [], { program })
  await t.test('and shows its console, where nobody but this machine can be reached', needsBrowser, async (t) => {
    const tab = await ConsoleTab.open(await startBrowser(t), broker.url)
    await tab.settled('overview')
    await tab.page.getByText('All is well.').waitFor()
    t.same(tab.takeProblems(), [])
  })
  t.equal(await broker.end('SIGTERM'), 0)
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
  t.same(await once(terminal, 'exit'), [0, null])
  t.match(shown, `  address       http://localhost:${port}, on all addresses`)
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
