import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'tap'

const root = join(import.meta.dirname, '../..')

/** Each test of a file, from its beginning to the next one's. */
function testsOf(file: string): readonly string[] {
  return readFileSync(file, 'utf8')
    .split(/^(?=test\()/m)
    .slice(1)
}

test('what random runs have to meet is asked by meetings, which leaves room for chance', async (t) => {
  const files = readdirSync(join(root, 'test'), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
  let [random, asked] = [0, 0]
  for (const file of files) {
    for (const text of testsOf(file).filter((each) => /numRuns: runs\(/.test(each))) {
      random += 1
      for (const [assertion] of text.matchAll(/\b(?:t\.ok|assert(?:\.ok)?)\(\w+ >=? .*/g)) {
        asked += 1
        if (!/>=? meetings\(/.test(assertion)) t.fail(`${relative(root, file)}: ${assertion}`)
      }
    }
  }
  t.ok(random > 50, `${random} tests have random runs`)
  t.ok(asked > 10, `${asked} of them count what they meet`)
})
