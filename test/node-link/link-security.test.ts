import { join } from 'node:path'
import { test } from 'tap'
import { readLinkTokens, TokenCheck } from '../../src/cluster/link/link-security.js'

const [first, second] = ['a'.repeat(32), 'b'.repeat(40)]

test('each line of the file is a token; what is none is refused with its line', async (t) => {
  const files = {
    two: `${first}\n\n  ${second}  \n`,
    empty: '\n\n',
    short: `${first}\nsecret\n`,
    spaced: `${'a b '.repeat(20)}\n`,
    many: `${first}\n`.repeat(9),
    large: 'x'.repeat(70_000),
  }
  const folder = t.testdir(files)
  const read = (name: string) => readLinkTokens(join(folder, name))
  t.same(read('two'), { ok: true, value: [first, second] })
  t.match(read('empty'), { error: /holds no token/ })
  t.match(read('short'), { error: /line 2 is no token of at least 32/ })
  t.match(read('spaced'), { error: /line 1 is no token/ })
  t.match(read('many'), { error: /holds 9 tokens, at most 8/ })
  t.match(read('large'), { error: /cannot be read: it has more than 65536 bytes/ })
  t.match(read('missing'), { error: /cannot be read: there is no such file/ })
  t.notMatch(JSON.stringify(read('short')), /secret/)
})

test('a token is accepted as Bearer, and nothing like it', async (t) => {
  const check = new TokenCheck([first, second])
  t.ok(check.accepts(`Bearer ${first}`))
  t.ok(check.accepts(`bearer  ${second}`))
  for (const wrong of [
    undefined,
    '',
    first,
    `Bearer ${first}a`,
    `Bearer ${first.slice(1)}`,
    `Basic ${first}`,
    'Bearer ',
  ]) {
    t.notOk(check.accepts(wrong), String(wrong))
  }
  t.ok(new TokenCheck([]).accepts(undefined), 'where certificates are enough')
})
