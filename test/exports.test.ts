import { dirname, join } from 'node:path'
import { test } from 'tap'
import { type Source, scriptTexts, sourcesOf } from './sources.js'

const sources = sourcesOf('src', 'workers')
const tests = sourcesOf('test', 'bench')

/** The whole turn of a partition in one step, as tests and benchmarks take it. */
const forTests = new Set(['takeTurn'])

/** The files that each source imports from, as paths from the root without their endings. */
const importsOf = new Map(
  [...sources, ...tests].map(({ path, code }) => [
    path,
    new Set([...code.matchAll(/['"](\.{1,2}\/[^'"]+)\.js['"]/g)].map(([, to = '']) => join(dirname(path), to))),
  ]),
)

/** The scripts that make pages and programs import from what was compiled. */
const scripts = scriptTexts()

function imports({ path, code }: Source, name: string, from: string): boolean {
  const isImported = importsOf.get(path)?.has(from.replace(/\.tsx?$/, '')) === true
  return path !== from && isImported && new RegExp(`\\b${name}\\b`).test(code)
}

test('each value that is exported is used by another file, and not by tests only', async (t) => {
  const declared = /^export (?:async )?(?:abstract )?(?:function\*?|const|class) (\w+)/gm
  for (const source of sources) {
    for (const [, name = ''] of source.code.matchAll(declared)) {
      const compiled = `dist/${source.path.replace(/\.tsx?$/, '')}.js`
      const used =
        sources.some((other) => imports(other, name, source.path)) ||
        scripts.some((text) => text.includes(compiled) && new RegExp(`\\b${name}\\b`).test(text))
      const usedHere = source.code.split(new RegExp(`\\b${name}\\b`)).length > 2
      const tested = tests.some((other) => imports(other, name, source.path))
      t.ok(used || (tested && (usedHere || forTests.has(name))), `${name} of ${source.path}`)
    }
  }
})
