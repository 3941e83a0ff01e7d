import { dirname, join } from 'node:path'
import { test } from 'tap'
import { type Source, scriptTexts, sourcesOf } from './sources.js'

const sources = sourcesOf('src', 'workers')
const tests = sourcesOf('test', 'bench')

/** The whole turn of a partition in one step, as tests and benchmarks take it. */
const forTests = new Set(['takeTurn'])

/** Which of these sources import from each file, by its path from the root without its ending. */
function importersIn(importing: readonly Source[]): ReadonlyMap<string, ReadonlySet<Source>> {
  const importers = new Map<string, Set<Source>>()
  for (const source of importing) {
    for (const [, to = ''] of source.code.matchAll(/['"](\.{1,2}\/[^'"]+)\.js['"]/g)) {
      const path = join(dirname(source.path), to)
      importers.set(path, (importers.get(path) ?? new Set()).add(source))
    }
  }
  return importers
}

const [importers, testImporters] = [importersIn(sources), importersIn(tests)]

/** The scripts that make pages and programs import from what was compiled. */
const scripts = scriptTexts()

test('each value that is exported is used by another file, and not by tests only', async (t) => {
  const declared = /^export (?:async )?(?:abstract )?(?:function\*?|const|class) (\w+)/gm
  const unused: string[] = []
  for (const source of sources) {
    const module = source.path.replace(/\.tsx?$/, '')
    for (const [, name = ''] of source.code.matchAll(declared)) {
      const word = new RegExp(`\\b${name}\\b`)
      const isIn = (by: ReadonlySet<Source> = new Set()) => Array.from(by).some(({ code }) => word.test(code))
      const used =
        isIn(importers.get(module)) || scripts.some((text) => text.includes(`dist/${module}.js`) && word.test(text))
      const usedByTestsOnly = () =>
        isIn(testImporters.get(module)) && (source.code.split(word).length > 2 || forTests.has(name))
      if (!used && !usedByTestsOnly()) unused.push(`${name} of ${source.path}`)
    }
  }
  t.same(unused, [])
})
