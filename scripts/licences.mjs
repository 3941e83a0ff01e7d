import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Puts the licences of the packages whose modules went into a bundle beside it. */
export function writeLicences(folder, paths) {
  writeFileSync(join(folder, 'LICENSES'), licencesOf(paths).join('\n----\n\n'))
}

/** The licences of the packages whose modules went into the program. */
function licencesOf(paths) {
  const folders = new Set(
    paths.map((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean),
  )
  return [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((each) => /^licen[cs]e/i.test(each))
    const text = file === undefined ? '' : readFileSync(join(root, folder, file), 'utf8')
    return `${name} ${version} (${license})\n\n${text.trim()}\n`
  })
}
