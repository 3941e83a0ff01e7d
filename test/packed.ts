import { execFileSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the project. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Packed {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** Packs the tree as it stands, without building it again: tests of other files use what is built. */
export function pack(folder: string): Packed {
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const [packed] = JSON.parse(execFileSync('npm', words, { cwd: root, encoding: 'utf8' })) as readonly Packed[]
  if (packed === undefined) throw new Error('npm packed nothing')
  return packed
}

/** Unpacks a package file into a folder, and in it what it depends on, without what it is developed with; gives where it is. */
export function installPackage(folder: string, file = join(folder, pack(folder).filename)): string {
  execFileSync('tar', ['-xzf', file, '-C', folder])
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: true }>>
  }
  const place = join(folder, 'package')
  for (const [path, { dev }] of Object.entries(lock.packages)) {
    if (path === '' || dev === true || !existsSync(join(root, path))) continue
    if (path.lastIndexOf('node_modules/') > 0) continue // It comes with the package that it is in.
    linkTree(join(root, path), join(place, path))
  }
  return place
}

/** Makes a folder with links to all files of another one: quick, and the same for whoever only reads them. */
function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, copy] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) linkTree(source, copy)
    else linkSync(source, copy)
  }
}
