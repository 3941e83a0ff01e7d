// Removes what an earlier build has left in dist of sources that are gone: tap would run tests that no longer exist.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = /\.js(\.map)?$/

for (const path of readdirSync(join(root, 'dist'), { recursive: true })) {
  if (output.test(path) && !path.startsWith('program') && !existsSync(join(root, path.replace(output, '.ts'))))
    rmSync(join(root, 'dist', path))
}
