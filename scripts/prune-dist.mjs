// Removes what an earlier build has left in dist of sources that are gone: tap would run tests that no longer exist.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** What is bundled, not compiled file by file. */
const madeElsewhere = ['program/', 'program.draft/', 'program.before/', 'console/']
const output = /\.js(\.map)?$/

for (const path of readdirSync(join(root, 'dist'), { recursive: true })) {
  if (!output.test(path) || madeElsewhere.some((folder) => path.startsWith(folder))) continue
  const sources = ['.ts', '.tsx'].map((ending) => join(root, path.replace(output, ending)))
  if (!sources.some((source) => existsSync(source))) rmSync(join(root, 'dist', path))
}
