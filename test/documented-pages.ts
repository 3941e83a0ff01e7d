import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the project. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** All pages by their path. */
export const pages: ReadonlyMap<string, string> = new Map(
  ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...namesIn('docs', '.md')].map((path) => [
    path,
    textOf(path),
  ]),
)

/** The text of a file of the project. */
export function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** The files of a folder and of those in it that have an ending. */
export function namesIn(folder: string, ending: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`)
}

/** The text of a page; throws when there is none. */
export function pageOf(path: string): string {
  const page = pages.get(path)
  if (page === undefined) throw new Error(`there is no ${path}`)
  return page
}
