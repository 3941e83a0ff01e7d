import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))

/** The file that says what the package is. */
export const packageFile = foundUpwards('package.json') ?? join(here, 'package.json')

/** Where the build has put a file. */
export function builtFile(path: string): string {
  return join(dirname(packageFile), 'dist', path)
}

/** Looked for from this file upwards: the program may run joined or in modules, from the sources' folder or where it was installed. */
export function foundUpwards(path: string): string | undefined {
  for (let folder = here; ; folder = dirname(folder)) {
    if (existsSync(join(folder, path))) return join(folder, path)
    if (folder === dirname(folder)) return undefined
  }
}
