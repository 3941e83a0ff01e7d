import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'tap'
import { linkFormat } from '../src/cluster/link/link-protocol.js'
import { exportVersion } from '../src/data/transfer/export-lines.js'
import { flagsByName } from '../src/flags/flags.js'
import { formatVersion } from '../src/storage/folder/folder-format.js'
import { namesIn, pageOf, pages, root, textOf } from './documented-pages.js'
import { RunningBroker } from './running.js'

test('README.md is a front door: below 10,000 bytes', async (t) => {
  t.ok(Buffer.byteLength(pageOf('README.md')) < 10_000)
})

test('generated pages are up to date: npm run docs', async (t) => {
  const folder = t.testdir()
  execFileSync(process.execPath, [join(root, 'scripts/build-docs.mjs'), folder])
  for (const name of readdirSync(folder)) {
    t.equal(textOf(`docs/${name}`), readFileSync(join(folder, name), 'utf8'), `docs/${name}`)
  }
})

test('every link leads to a file and a heading that are there', async (t) => {
  for (const [path, page] of pages) {
    for (const [link, target = ''] of prose(page).matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue
      const [file = '', anchor] = target.split('#')
      const linked = file === '' ? path : join(dirname(path), file)
      if (anchor === undefined) t.ok(existsSync(join(root, linked)), `${path}: ${link}`)
      else t.ok(anchorsOf(pageOf(linked)).has(anchor), `${path}: ${link}`)
    }
  }
})

test('every file of the project that a page names is there', async (t) => {
  let named = 0
  for (const [path, page] of pages) {
    if (path === 'CHANGELOG.md') continue // It also speaks of what was there once.
    for (const file of filesNamedIn(page)) {
      named += 1
      t.ok(
        [file, `src/${file}`, `dist/${file}`].some((each) => existsSync(join(root, each))),
        `${path}: ${file}`,
      )
    }
  }
  t.ok(named > 100, 'the pages name files')
})

test('every flag, variable and metric that a page names is one of the program', async (t) => {
  const variables = new Set([...flagsByName.values()].map(({ variable }) => variable))
  const sources = namesIn('src', '.ts').map(textOf).join('\n')
  for (const [path, page] of pages) {
    for (const [, flag = ''] of page.matchAll(/`-(\w\w+)[^`]*`/g)) t.ok(flagsByName.has(flag), `${path}: -${flag}`)
    for (const [variable] of page.matchAll(/\b(?:ORION|RIGEL)_\w+/g)) {
      t.ok(variables.has(variable) || ofTests.has(variable), `${path}: ${variable}`)
    }
    for (const [metric] of page.matchAll(/\brigel_\w+/g)) t.ok(sources.includes(metric), `${path}: ${metric}`)
  }
})

/** The variables that switch tests to their long forms, or say what they run. */
const ofTests: ReadonlySet<string> = new Set([
  'RIGEL_BENCH',
  'RIGEL_CHROMIUM',
  'RIGEL_CHANGE_SCHEDULES',
  'RIGEL_CLUSTER_LINK',
  'RIGEL_CLUSTER_ROUNDS',
  'RIGEL_FAULTS',
  'RIGEL_GROWTH',
  'RIGEL_GROWTH_ONLY',
  'RIGEL_GROWTH_PART',
  'RIGEL_IMAGE',
  'RIGEL_KILLS',
  'RIGEL_LINKS',
  'RIGEL_LINKS_SEED',
  'RIGEL_MANY',
  'RIGEL_POWER_CUTS',
  'RIGEL_PLAYED_SCHEDULES',
  'RIGEL_PLAYED_SEED',
  'RIGEL_PROOFS',
  'RIGEL_REPLICA',
  'RIGEL_REPLICA_SCHEDULES',
  'RIGEL_REPLICA_SEED',
  'RIGEL_RUNS',
  'RIGEL_SEED',
  'RIGEL_TORTURE',
  'RIGEL_WAL',
])

test('the changelog names the formats that the program writes', async (t) => {
  const [, newest = ''] = pageOf('CHANGELOG.md').split('### Formats')
  t.match(newest, `Data folders and backups have format ${formatVersion}, exports version ${exportVersion}, `)
  t.match(newest, `the link between nodes format ${linkFormat}.`)
})

test('docs/api.md has every path of the program, each with its verbs', async (t) => {
  const rows = pageOf('docs/api.md').split('\n').flatMap(pathsOfRow)
  t.ok(rows.length > 80, 'the page has paths')
  const broker = await RunningBroker.start(t, ['-statCounters'])
  const documented = new Set(rows.map(({ path }) => anyNames(path)))
  for (const route of await countedRoutes(broker)) {
    // Two resources that are counted together are written as one, the segment that only one of them has in brackets.
    for (const path of [route.replace(/\[.*\]/, ''), route.replace(/[[\]]/g, '')]) {
      t.ok(documented.has(anyNames(path)), `${path} is documented`)
    }
  }
  for (const { path, verbs } of rows) {
    const { status, headers } = await broker.send('PURGE', path.replace(/\{\w+\}/g, '1'))
    t.equal(status, 405, path)
    const allowed = headers.get('allow')?.split(', ') ?? []
    t.same(new Set(verbs), new Set(allowed), path)
  }
})

test('docs/architecture.md names every folder, every room and every dependency', async (t) => {
  const page = pageOf('docs/architecture.md')
  const foldersIn = (path: string): readonly string[] =>
    readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  for (const folder of foldersIn('src')) {
    t.match(page, `| \`src/${folder}\` |`, folder)
    for (const room of foldersIn(`src/${folder}`)) t.match(page, `\`${room}\``, `${folder}/${room}`)
  }
  const { dependencies } = JSON.parse(textOf('package.json')) as { dependencies: Readonly<Record<string, string>> }
  for (const name of Object.keys(dependencies)) t.match(page, `| \`${name}\` |`, name)
})

/** A page without its blocks of code, in which brackets are no links. */
function prose(page: string): string {
  return page.replace(/^```.*?^```$/gms, '')
}

/** The names by which headings are linked. */
function anchorsOf(page: string): ReadonlySet<string> {
  return new Set(
    [...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Paths from the root, in text and in code, and in backticks also those from src. What is built stands for its source. */
function filesNamedIn(page: string): ReadonlySet<string> {
  const fromRoot = [...page.matchAll(/(?<![\w./-])(?:bench|dist|docs|scripts|src|test|workers)\/[\w./-]*\w/g)]
  const inBackticks = [...page.matchAll(/(?<=`)[\w-]+(?:\/[\w.-]+)+\.(?:ts|mjs|svg|md)(?=`)/g)]
  return new Set(
    [...fromRoot, ...inBackticks].map(([path]) => {
      return path.startsWith('dist/') ? path.replace(/^dist\/(program\/)?/, '').replace(/\.c?js$/, '.ts') : path
    }),
  )
}

/** The paths that a broker counts requests of, as its statistics list them. */
async function countedRoutes(broker: RunningBroker): Promise<readonly string[]> {
  const { json } = await broker.send('GET', '/statistics?options=fullCounters')
  const { counters } = json as { counters: { requests: object } }
  return Object.keys(counters.requests)
}

/** A path whatever the names of its segments are. */
function anyNames(path: string): string {
  return path.replace(/\{\w+\}/g, '{}')
}

/** The paths of a row of a table, with those that it is also under, and the verbs that the row has. */
function pathsOfRow(line: string): readonly { readonly path: string; readonly verbs: readonly string[] }[] {
  const cells = line.split('|').map((cell) => cell.trim())
  const [, path = '', ...rest] = cells
  if (!path.startsWith('`/')) return []
  const byColumn = ['GET', 'POST', 'PUT', 'DELETE'].filter((_, at) => rest[at] !== '')
  const verbs = /^[A-Z, ]+$/.test(rest[0] ?? '') ? (rest[0] ?? '').split(', ') : byColumn
  const named = [path, cells.at(-2) ?? ''].flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)])
  return named.map(([, each = '']) => ({ path: each, verbs }))
}
