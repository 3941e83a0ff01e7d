import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The text of a source file without its comments. */
export interface Source {
  /** From the root of the project. */
  readonly path: string
  readonly code: string
}

/** The sources in these folders of the project. */
export function sourcesOf(...folders: readonly string[]): readonly Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
      .map((entry) => sourceOf(relative(root, join(entry.parentPath, entry.name)))),
  )
}

/** One source file of the project. */
export function sourceOf(path: string): Source {
  const code = readFileSync(join(root, path), 'utf8').replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
  return { path, code }
}

/** The texts of the scripts that build the project. */
export function scriptTexts(): readonly string[] {
  const folder = join(root, 'scripts')
  return readdirSync(folder)
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
}
