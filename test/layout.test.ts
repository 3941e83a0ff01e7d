import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * The folders of `src`: each may use those above it. Its rooms stand in the same order; rooms in brackets do not know each
 * other. A folder without rooms is one itself.
 */
const folders: Readonly<Record<string, readonly (string | readonly string[])[]>> = {
  threads: [['calls', 'shared-memory']],
  observe: ['log', 'measure'],
  flags: [],
  model: ['context', 'expression', 'subscription', 'registration'],
  storage: ['wal', 'etcd', 'records', 'environment', 'folder', ['store', 'archive']],
  partition: ['turn', ['mailbox', 'replica']],
  delivery: ['http-client', 'queue', 'senders', 'streams'],
  broker: ['operations', 'front-end', ['coordinator', 'providers']],
  api: [['ngsi1', 'ngsi2', 'management'], 'console'],
  http: [],
  cluster: ['membership', 'link'],
  data: ['offline', 'transfer'],
  runtime: [],
}

/** Whoever stands on a line may use the lines above it. The files at the top of `src` are the ground, except the entry. */
const lines: readonly (readonly string[])[] = [
  ['ground'],
  ...Object.entries(folders).flatMap(([folder, rooms]) => [
    ...rooms.map((line) => [line].flat().map((room) => `${folder}/${room}`)),
    [folder],
  ]),
]

/** The room that a file stands in; files of a folder that are in none of its rooms put the rooms together. */
function roomOf(file: string): string {
  const [top = '', room = '', ...inner] = relative(join(root, 'src'), file).split('/')
  if (room === '') return top === 'main.ts' ? 'runtime' : 'ground'
  const isRoom = folders[top] === undefined || folders[top].length > 0
  return isRoom && inner.length > 0 ? `${top}/${room}` : top
}

function lineOf(room: string): number {
  return lines.findIndex((rooms) => rooms.includes(room))
}

function sources(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/\bfrom '(\.[^']+)'/g)].map(([, path = '']) =>
    sourceAt(normalize(join(dirname(file), path)).replace(/\.js$/, '.ts')),
  )
}

/** The file of a module, which may have markup in it. */
function sourceAt(path: string): string {
  return existsSync(path) ? path : `${path}x`
}

test('imports point one way: each folder uses those above it, and each room those above it in its folder', async (t) => {
  const wrong: string[] = []
  for (const file of sources(join(root, 'src'))) {
    const room = roomOf(file)
    if (lineOf(room) === -1) wrong.push(`${relative(root, file)} stands in a room that is not named here`)
    for (const used of importsOf(file)) {
      const other = roomOf(used)
      const allowed = other === room || lineOf(other) < lineOf(room)
      if (!allowed) wrong.push(`${relative(root, file)} uses ${relative(root, used)}`)
    }
  }
  t.same(wrong, [])
})

test('no folder has more files than one looks through', async (t) => {
  const counts = new Map<string, number>()
  for (const file of sources(join(root, 'src'))) {
    const folder = relative(root, dirname(file))
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  t.ok(counts.size > 30)
  for (const [folder, count] of counts) t.ok(count <= 25, `${folder} has ${count} files`)
})

test('no files import each other in a circle', async (t) => {
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path, file].map((each) => relative(root, each)).join(' > '))
    if (path.includes(file) || done.has(file)) return
    for (const used of importsOf(file)) visit(used, [...path, file])
    done.add(file)
  }
  for (const file of sources(join(root, 'src'))) visit(file, [])
  t.same(circles, [])
})

/** The names that appear more than once. */
function repeated(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))]
}

test('no two files and no two exports of a room share a name: a search in it finds one definition', async (t) => {
  const declaration = /^export (?:abstract )?(?:async )?(?:class|interface|type|function\*?|const) (\w+)/gm
  const all = sources(join(root, 'src'))
  let exported = 0
  for (const room of new Set(all.map(roomOf))) {
    const files = all.filter((file) => roomOf(file) === room)
    t.same(repeated(files.map((file) => basename(file))), [], `files of ${room}`)
    const names = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(declaration)].map(([, name = '']) => name),
    )
    t.same(repeated(names), [], `exports of ${room}`)
    exported += names.length
  }
  t.ok(exported > 500)
})

test('only main reads the command line and the environment', async (t) => {
  for (const file of sources(join(root, 'src')).filter((each) => roomOf(each) !== 'runtime')) {
    t.notMatch(readFileSync(file, 'utf8'), /process\.(argv|env)\b/, relative(root, file))
  }
})

test('what runs in browsers takes types only of what runs in the broker', async (t) => {
  const page = join(root, 'src/api/console/page')
  const files = sources(page)
  t.ok(files.length > 20)
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    t.notMatch(text, /from 'node:/, relative(root, file))
    for (const [statement, path = ''] of text.matchAll(/^import (?:type )?[^']*'(\.[^']+)'/gm)) {
      const isWithin = join(dirname(file), path).startsWith(`${page}/`)
      t.ok(isWithin || statement.startsWith('import type '), `${relative(root, file)} uses ${path}`)
    }
  }
})

test('servers over TLS are made in one place, which has them read through streams', async (t) => {
  const making = sources(join(root, 'src')).filter((file) => {
    return /import \{[^}]*\bcreateServer\b[^}]*\} from 'node:(https|tls|http2)'/.test(readFileSync(file, 'utf8'))
  })
  t.same(
    making.map((file) => relative(root, file)),
    ['src/http/listen.ts'],
  )
})

test('every port is listened to where messages that cannot be read are heard of', async (t) => {
  const listening = [...sources(join(root, 'src')), ...sources(join(root, 'workers'))].filter((file) =>
    /\.on(ce)?\('message'/.test(readFileSync(file, 'utf8')),
  )
  t.same(
    listening.map((file) => relative(root, file)),
    ['src/threads/calls/linked-thread.ts', 'src/threads/calls/messages.ts'], // The first one hears that its thread sleeps, with one text.
  )
})
