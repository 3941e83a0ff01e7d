import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Each line may use the lines above it, and a folder itself; folders of one line do not know each other. */
const lines = [
  ['ground', 'measure', 'log', 'command-line'],
  ['context'],
  ['exchange.ts'],
  ['subscription'],
  ['registration'],
  ['partition'],
  ['lmdb', 'mailbox', 'outbox'],
  ['coordinator'],
  ['ngsi1', 'management'],
  ['http'],
  ['assembly'],
]

/** The rooms of the ground floor know each other: what is measured, what is logged and what can be set belong together. */
const groundFloor = new Set(lines[0])

/** Files at the top of src that put parts together; all others there are the ground that everything stands on. */
const assembly = new Set([
  'main.ts',
  'program.ts',
  'life.ts',
  'core.ts',
  'front-end.ts',
  'read-sides.ts',
  'tasks.ts',
  'delivery.ts',
])

function roomOf(file: string): string {
  const [top = '', ...inner] = relative(join(root, 'src'), file).split('/')
  if (inner.length > 0) return top
  if (top === 'exchange.ts') return top
  return assembly.has(top) ? 'assembly' : 'ground'
}

function lineOf(room: string): number {
  return lines.findIndex((rooms) => rooms.includes(room))
}

function sources(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/\bfrom '(\.[^']+)'/g)].map(([, path = '']) =>
    normalize(join(dirname(file), path)).replace(/\.js$/, '.ts'),
  )
}

test('imports point one way: each folder uses what stands above it in the diagram', async (t) => {
  for (const file of sources(join(root, 'src'))) {
    const room = roomOf(file)
    t.not(lineOf(room), -1, `${relative(root, file)} stands in a room of the diagram`)
    for (const used of importsOf(file)) {
      const other = roomOf(used)
      const allowed =
        other === room || lineOf(other) < lineOf(room) || (groundFloor.has(room) && groundFloor.has(other))
      t.ok(allowed, `${relative(root, file)} uses ${relative(root, used)}`)
    }
  }
})

test('no files import each other in a circle', async (t) => {
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    t.notOk(path.includes(file), `no circle: ${[...path, file].map((each) => relative(root, each)).join(' > ')}`)
    if (path.includes(file) || done.has(file)) return
    for (const used of importsOf(file)) visit(used, [...path, file])
    done.add(file)
  }
  for (const file of sources(join(root, 'src'))) visit(file, [])
})

test('only main reads the command line and the environment', async (t) => {
  for (const file of sources(join(root, 'src')).filter((each) => roomOf(each) !== 'assembly')) {
    t.notMatch(readFileSync(file, 'utf8'), /process\.(argv|env)\b/, relative(root, file))
  }
})
