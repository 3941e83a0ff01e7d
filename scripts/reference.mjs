// Writes the reference of the interfaces and of the flags, which the broker serves: openapi.json, docs.html and flags.html.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { flagsPage } from './flags-page.mjs'
import { openApi } from './openapi.mjs'
import { referencePage } from './reference-page.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Writes them into dist, with the flags of the compiled sources that lie in a folder; `yaml` is the package of that name. */
export async function writeReference(compiled, { parse }) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const ofFlags = (name) => import(join(root, compiled, 'src', 'flags', name))
  const { flagGroups } = await ofFlags('flag.js')
  const { flagsByName } = await ofFlags('flags.js')
  const { flagRules } = await ofFlags('flag-help.js')
  const description = openApi(join(root, 'docs', 'openapi'), version, parse)
  const files = {
    'openapi.json': JSON.stringify(description),
    'docs.html': referencePage(description),
    'flags.html': flagsPage(flagGroups, flagsByName, flagRules),
  }
  mkdirSync(join(root, 'dist'), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, 'dist', name), text)
}
